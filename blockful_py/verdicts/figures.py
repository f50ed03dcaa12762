# SPDX-License-Identifier: Apache-2.0
"""An audit's measurements of one model, and their gaps to the model retrained from scratch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """Figures of one model.

    Attributes:
        model, depth, start: name, longest path from a start, whether it is a start.
        holder: whether its owner holds data to forget.
        weights: SHA-256 of its safetensors bytes, hex.
        ad_f_train, ad_f_test: accuracy on the forgotten training samples and on similar held-out ones.
        ad_r_train, ad_r_test: accuracy on the owner's retained training samples and on retained test data.
        membership: share of the forgotten training samples that are called members.
        auc: AUC of the log-probability of the true label, forgotten training samples against held-out ones.
        relearn: mean steps to relearn; None if the figure is not meaningful.
        divergence: Jensen-Shannon divergence to gold on held-out samples like the forgotten ones, in nats.
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
    divergence: float
    distance: float


@dataclass(frozen=True, slots=True)
class Row:
    """One method's figures of every affected model, in topological order."""

    method: str
    models: tuple[ModelFigures, ...]


@dataclass(frozen=True, slots=True)
class Gaps:
    """Distance of a model from gold's model of the same node; None for a figure that is not meaningful.

    Attributes:
        ad_f: AD_f minus gold's, the larger of train and test.
        damage: gold's AD_r on test data minus the model's (-d of the protocol).
        membership, auc: absolute differences.
        shortfall: number of steps by which it relearns faster than gold.
        divergence: as measured.
        gold_relearns: number of steps by which gold relearns slower than the original: the whole gap.
        equal: whether the weights have gold's bits.
    """

    ad_f: float
    damage: float
    membership: float
    auc: float
    shortfall: float | None
    divergence: float
    gold_relearns: float | None
    equal: bool


def gaps(model: ModelFigures, gold: ModelFigures, original: ModelFigures) -> Gaps:
    """Gaps of a model; all three arguments belong to the same node."""
    shortfall = gold_relearns = None
    if model.relearn is not None and gold.relearn is not None and original.relearn is not None:
        shortfall, gold_relearns = gold.relearn - model.relearn, gold.relearn - original.relearn
    return Gaps(
        ad_f=max(model.ad_f_train - gold.ad_f_train, model.ad_f_test - gold.ad_f_test),
        damage=gold.ad_r_test - model.ad_r_test,
        membership=abs(model.membership - gold.membership),
        auc=abs(model.auc - gold.auc),
        shortfall=shortfall,
        divergence=model.divergence,
        gold_relearns=gold_relearns,
        equal=model.weights == gold.weights,
    )
