# SPDX-License-Identifier: Apache-2.0
"""An audit's measurements of one model, and their gaps to the model retrained from scratch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """Measured on one model.

    Attributes:
        model, depth, start: name, longest path from a start, whether it is one.
        holder: whether its owner holds some of what is to be forgotten.
        weights: SHA-256 of its safetensors bytes, hex.
        ad_f_train, ad_f_test: accuracy on the forgotten training samples and on held-out ones like them.
        ad_r_train, ad_r_test: accuracy on the owner's retained training samples and on retained test data.
        membership: share of the forgotten training samples that are called members.
        auc: log-probability of the true label, forgotten training samples against held-out ones.
        relearn: mean steps until it has learnt again; None where that tells nothing.
        probe: recall of a linear probe on the features; None where no whole class is forgotten.
        divergence: Jensen-Shannon divergence to gold on held-out samples like the forgotten, in nats.
        distance: L2 distance to gold's weights.

    Accuracies, rates and recalls lie in [0, 1].
    """

    model: str
    depth: int
    start: bool
    holder: bool
    weights: str
    ad_f_train: float
    ad_f_test: float
    ad_r_train: float
    ad_r_test: float
    membership: float
    auc: float
    relearn: float | None
    probe: float | None
    divergence: float
    distance: float


@dataclass(frozen=True, slots=True)
class Row:
    """One method's figures, of every affected model, in topological order."""

    method: str
    models: tuple[ModelFigures, ...]


@dataclass(frozen=True, slots=True)
class Gaps:
    """Distance of one model from gold's model of the same node.  None where a figure tells nothing.

    Attributes:
        ad_f: AD_f less gold's, the larger of train and test.
        damage: gold's AD_r on test data less the model's (-d of the protocol).
        membership, auc, probe: absolute differences.
        shortfall: steps by which it relearns faster than gold.
        divergence: as measured.
        gold_relearns: steps by which gold relearns slower than the original: how much there is to close.
    """

    ad_f: float
    damage: float
    membership: float
    auc: float
    probe: float | None
    shortfall: float | None
    divergence: float
    gold_relearns: float | None


def gaps(model: ModelFigures, gold: ModelFigures, original: ModelFigures) -> Gaps:
    """`model`, `gold` and `original` are of one node."""
    shortfall = gold_relearns = None
    if model.relearn is not None and gold.relearn is not None and original.relearn is not None:
        shortfall, gold_relearns = gold.relearn - model.relearn, gold.relearn - original.relearn
    return Gaps(
        ad_f=max(model.ad_f_train - gold.ad_f_train, model.ad_f_test - gold.ad_f_test),
        damage=gold.ad_r_test - model.ad_r_test,
        membership=abs(model.membership - gold.membership),
        auc=abs(model.auc - gold.auc),
        probe=None if model.probe is None or gold.probe is None else abs(model.probe - gold.probe),
        shortfall=shortfall,
        divergence=model.divergence,
        gold_relearns=gold_relearns,
    )
