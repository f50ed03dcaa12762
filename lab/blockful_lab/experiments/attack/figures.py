# SPDX-License-Identifier: Apache-2.0
"""Figures of the attacks by method, target and view."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from blockful_lab.experiments.attack.rows import AttackScenario, ShadowRow
from blockful_lab.experiments.attack.shadows import VIEWS
from blockful_py.errors import RunError
from blockful_py.unlearning.audit.exposure import auc
from blockful_py.unlearning.audit.klom import Klom, above_floor, klom
from blockful_py.unlearning.audit.network import Floats
from blockful_py.unlearning.audit.residual import residual_knowledge
from blockful_py.unlearning.audit.ulira import ULira, u_lira
from blockful_py.verdicts.references import GOLD, GOLD2
from blockful_py.verdicts.statistics import Estimate, mean, resample


@dataclass(frozen=True, slots=True)
class Attacked:
    """One method on one target, n samples, seen through one view of S shadow federations.

    Attributes:
        attack: against gold, per example.
        klom: against gold; `klom_above` is its mean less gold2's.
        recognised: share of the samples whose own label has more than half of the probability;
            `recognised_above` is this share less gold's.
        near_above: the same of the samples' perturbed neighbours, less gold's; None for retained samples.
        membership: AUC of the samples' margins against the margins of strangers like them, mean over
            federations; `membership_above` is this AUC less gold's.
    """

    method: str
    attack: ULira
    klom: Klom
    klom_above: Estimate
    recognised: Estimate
    recognised_above: Estimate
    near_above: Estimate | None
    membership: Estimate
    membership_above: Estimate


@dataclass(frozen=True, slots=True)
class Viewed:
    """All methods on one target through one view.

    Attributes:
        examples: number of samples.
        recognised, membership: gold's.
    """

    target: str
    view: str
    examples: int
    recognised: Estimate
    membership: Estimate
    methods: tuple[Attacked, ...]


@dataclass(frozen=True, slots=True)
class Attacks:
    """One scenario.

    Attributes:
        shadows: number of federations of either kind.
        affected: number of affected models, least and most.
    """

    scenario: AttackScenario
    shadows: int
    affected: tuple[int, int]
    views: tuple[Viewed, ...]


@dataclass(frozen=True, slots=True)
class _Margins:
    """Of one row, target and view, over S federations.

    Attributes:
        asked: (S, n).
        near: (S, 8n).
        membership: AUC of samples against strangers, (S,).
    """

    asked: Floats
    near: Floats | None
    membership: Floats


def figures_of(scenario: AttackScenario, found: Sequence[ShadowRow]) -> Attacks:
    """The figures of one scenario's rows, over the federations that have them all.

    Raises:
        RunError: gold or gold2 is missing, or fewer than 4 federations have all rows.
        UnlearningError: a margin is not finite.
    """
    by_name: dict[str, dict[int, ShadowRow]] = {}
    for row in found:
        by_name.setdefault(row.name, {})[row.shadow] = row
    missing = [name for name in (GOLD, GOLD2) if name not in by_name]
    if missing:
        raise RunError(f"{scenario.title} has no row {missing[0]}: run the experiment for it.")
    common = sorted(set.intersection(*(set(of_row) for of_row in by_name.values())))
    whole = {name: [of_row[shadow] for shadow in common] for name, of_row in by_name.items()}
    affected = [row.affected for row in whole[GOLD]]
    targets = whole[GOLD][0].margins if common else {}
    views = tuple(_viewed(target, view, whole) for target in targets for view in VIEWS)
    return Attacks(scenario, len(common), (min(affected, default=0), max(affected, default=0)), views)


def _viewed(target: str, view: str, whole: Mapping[str, Sequence[ShadowRow]]) -> Viewed:
    read = {name: _margins(rows, target, view) for name, rows in whole.items()}
    gold = read[GOLD]
    counts = resample(range(len(gold.asked)))
    return Viewed(
        target,
        view,
        gold.asked.shape[1],
        mean(_recognised(gold.asked), counts),
        mean(gold.membership.tolist(), counts),
        tuple(_attacked(read)),
    )


def _attacked(read: Mapping[str, _Margins]) -> Iterator[Attacked]:
    gold, floor = read[GOLD], read[GOLD2]
    counts = resample(range(len(gold.asked)))
    for name, own in read.items():
        if name == GOLD:
            continue
        both = None if own.near is None or gold.near is None else (own.near, gold.near)
        yield Attacked(
            method=name,
            attack=u_lira(own.asked, gold.asked),
            klom=klom(own.asked, gold.asked),
            klom_above=above_floor(own.asked, floor.asked, gold.asked),
            recognised=mean(_recognised(own.asked), counts),
            recognised_above=residual_knowledge(own.asked, gold.asked).excess,
            near_above=None if both is None else residual_knowledge(*both).excess,
            membership=mean(own.membership.tolist(), counts),
            membership_above=mean((own.membership - gold.membership).tolist(), counts),
        )


def _margins(found: Sequence[ShadowRow], target: str, view: str) -> _Margins:
    parts = [row.margins[target][view] for row in found]
    asked = np.array([part["asked"] for part in parts])
    strangers = np.array([part["strangers"] for part in parts])
    near = np.array([part["near"] for part in parts]) if "near" in parts[0] else None
    seen = [auc(own, other) for own, other in zip(asked, strangers, strict=True)]
    return _Margins(asked, near, np.array(seen))


def _recognised(asked: Floats) -> list[float]:
    return [float(share) for share in (asked > 0).mean(1)]
