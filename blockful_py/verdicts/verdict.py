# SPDX-License-Identifier: Apache-2.0
"""The verdict on forgetting: gaps to gold, compared with the gaps of gold2, the noise floor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from blockful_py.errors import UnlearningError
from blockful_py.types import References
from blockful_py.verdicts.figures import Gaps, ModelFigures, Row, gaps
from blockful_py.verdicts.statistics import Counts, mean, ratio, resample, worse_tail

ALLOWED_AD_F = 0.01
ALLOWED_RATIO = 1.2
"""Maximum ratio of a gap to the floor (docs/reference/unlearning.md, Verdict)."""
CLOSED = 0.8
"""Share of the relearn gap that must be closed, if gold2 closes all of it."""
TELLING = 0.5
"""Minimum share that gold2 must close for relearning to be meaningful."""

BITS = "models with other bits than gold's"
"""Name of the requirement where training is a function of the data."""

RELATIVE = ("membership", "auc", "divergence")
"""Gaps that follow from outputs alone, not from weights."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A model's figures and gaps, and the number of its federation."""

    federation: int
    figures: ModelFigures
    gaps: Gaps


@dataclass(frozen=True, slots=True)
class Criterion:
    """A requirement: `value` at most `limit`, or at least `limit` if `at_least`.

    Attributes:
        low, high: 95 % interval of the value.
        floor: gold2's value.
        passed: whether the requirement is met.
    """

    name: str
    value: float
    low: float
    high: float
    limit: float
    floor: float
    passed: bool
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the method has forgotten (`forgotten`) and kept the rest (`intact`), with the reasons if not.

    Attributes:
        exact: no weight depends on the forgotten data (`audit.exactness`).  Gaps to gold then are no trace of
            it, and do not count.
        references: of the retrained models; with references chosen again, no choice depends on that data
            either.
    """

    forgetting: tuple[Criterion, ...]
    keeping: tuple[Criterion, ...]
    exact: bool = False
    references: References = References.KEPT

    @property
    def forgotten(self) -> bool:
        return self.exact or all(criterion.passed for criterion in self.forgetting)

    @property
    def intact(self) -> bool:
        return all(criterion.passed for criterion in self.keeping)

    @property
    def reasons(self) -> tuple[str, ...]:
        """The failed requirements, with figures."""
        asked = self.keeping if self.exact else (*self.forgetting, *self.keeping)
        return tuple(_reason(one) for one in asked if not one.passed)

    def __str__(self) -> str:
        said = "forgotten" if self.forgotten else "not forgotten"
        said += f", {self.references.exact}" if self.exact else ""
        said += "" if self.intact else ", damaged"
        return f"{said}: {'; '.join(self.reasons)}" if self.reasons else said


def place(row: Row, gold: Row, original: Row, federation: int = 0) -> list[Placed]:
    """Gaps of a row's models.  Raises UnlearningError: the rows are of different models."""
    names = [[model.model for model in each.models] for each in (row, gold, original)]
    if not names[0] == names[1] == names[2]:
        raise UnlearningError(f"rows {row.method}, {gold.method} and {original.method} are of other models.")
    nodes = zip(row.models, gold.models, original.models, strict=True)
    return [Placed(federation, model, gaps(model, *others)) for model, *others in nodes]


def judge(
    method: Sequence[Placed],
    floor: Sequence[Placed],
    classes: bool,
    resampled: Sequence[Placed] | None = None,
) -> Verdict:
    """Verdict on a method over all its models, of one or many federations.

    If gold2 has gold's bits on every model, training is a function of the data, and no noise excuses a gap:
    the method has forgotten if it has gold's bits, too.

    Single models get no verdict: with some twenty of them an audit of an exact method would name one.

    Args:
        floor: gold2's gaps, of the same models in the same order.
        classes: whether whole classes are forgotten.
        resampled: gaps of gold of resampled data, which then are the floor of damage.
    """
    counts = resample([one.federation for one in method])
    if all(one.gaps.equal for one in floor):
        return Verdict((_bits(method),), _damage(method, resampled or floor, counts))
    forgetting = [_ad_f(method, floor, counts, classes)]
    for name in RELATIVE:
        values, least = _values(method, name), _values(floor, name)
        if values is not None and least is not None:
            times = ratio(values, least, counts)
            # Few models make noisy ratios: a gap counts only if its interval excludes the floor.
            passed = times.value <= ALLOWED_RATIO or times.low <= 1
            forgetting.append(Criterion(name, times.value, times.low, times.high, ALLOWED_RATIO, 1.0, passed))
    relearn = _relearn(method, floor)
    forgetting += [relearn] if relearn else []
    return Verdict(tuple(forgetting), _damage(method, floor, counts))


def _bits(method: Sequence[Placed]) -> Criterion:
    """The requirement of a training that is a function of the data: no model has other bits than gold's."""
    others = float(sum(not one.gaps.equal for one in method))
    return Criterion(BITS, others, others, others, 0.0, 0.0, others == 0)


def _ad_f(method: Sequence[Placed], floor: Sequence[Placed], counts: Counts, classes: bool) -> Criterion:
    """The requirement on AD_f: on the worst model if classes are forgotten, otherwise on the mean.

    At the other levels gold itself may be right by generalising.
    """
    values, least = [one.gaps.ad_f for one in method], [one.gaps.ad_f for one in floor]
    average, noise = mean(values, counts), mean([abs(value) for value in least], counts)
    if classes:
        worst, limit = max(values), max(ALLOWED_AD_F, *least)
        return Criterion("worst ad_f", worst, worst, worst, limit, max(least), worst <= limit)
    limit = max(ALLOWED_AD_F, ALLOWED_RATIO * noise.value)
    passed = average.value <= limit or average.low <= noise.value
    return Criterion("ad_f", average.value, average.low, average.high, limit, noise.value, passed)


def _relearn(method: Sequence[Placed], floor: Sequence[Placed]) -> Criterion | None:
    """Share of the closed relearn gap, on models whose owners hold data to forget.

    None if gold does not certainly relearn slower than the original, or if gold2 closes less than half: apart
    from damage, the figure would then be meaningless.
    """
    pairs = [
        (one, other)
        for one, other in zip(method, floor, strict=True)
        if one.figures.holder and one.gaps.gold_relearns is not None
    ]
    if not pairs:
        return None
    counts = resample([one.federation for one, _ in pairs])
    to_close = [one.gaps.gold_relearns or 0.0 for one, _ in pairs]
    if mean(to_close, counts).low <= 0:
        return None
    closed, least = (
        ratio([all_of - (each.gaps.shortfall or 0) for all_of, each in zip(to_close, side, strict=True)],
              to_close, counts)
        for side in zip(*pairs, strict=True)
    )  # fmt: skip
    if least.value < TELLING:
        return None
    limit = CLOSED * min(1.0, least.value)
    passed = closed.value >= limit or closed.high >= min(1.0, least.value)
    return Criterion(
        "relearn closed", closed.value, closed.low, closed.high, limit, least.value, passed, True
    )


def _damage(method: Sequence[Placed], floor: Sequence[Placed], counts: Counts) -> tuple[Criterion, ...]:
    """Mean and worse tail of gold's AD_r minus the model's.

    Gold and gold2 could have been drawn the other way round.  Each limit is therefore the upper end of the
    interval of gold2's figure or, if higher, of gold's measured from gold2.
    """
    values, least = [one.gaps.damage for one in method], [one.gaps.damage for one in floor]
    mirrored = [-value for value in least]
    criteria = []
    for name, measure in (("damage", mean), ("damage of the worst 5 %", worse_tail)):
        value, noise = measure(values, counts), measure(least, counts)
        limit = max(noise.high, measure(mirrored, counts).high)
        passed = value.value <= limit
        criteria.append(Criterion(name, value.value, value.low, value.high, limit, noise.value, passed))
    return tuple(criteria)


def _values(placed: Sequence[Placed], name: str) -> list[float] | None:
    values = [getattr(one.gaps, name) for one in placed]
    return None if None in values else values


def _reason(one: Criterion) -> str:
    sign = "<" if one.at_least else ">"
    times = " x floor" if one.name in RELATIVE else ""
    return f"{one.name} {one.value:.3g}{times} {sign} {one.limit:.3g}"
