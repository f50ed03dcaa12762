# SPDX-License-Identifier: Apache-2.0
"""One method in one scenario, over all its seeds: estimates, tails, by depth, and the verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from blockful_lab.experiments.results import Result, references_of
from blockful_py.errors import RunError
from blockful_py.forget import Level
from blockful_py.verdicts.references import GOLD, GOLD2, ORIGINAL, RESAMPLED
from blockful_py.verdicts.statistics import Estimate, mean, ratio, resample, worse_tail
from blockful_py.verdicts.verdict import RELATIVE, Placed, Verdict, judge, place

FIGURES: Mapping[str, Callable[[Placed], float | None]] = {
    "ad_f_train": lambda one: one.figures.ad_f_train,
    "ad_f_test": lambda one: one.figures.ad_f_test,
    "ad_r_train": lambda one: one.figures.ad_r_train,
    "ad_r_test": lambda one: one.figures.ad_r_test,
    "damage": lambda one: one.gaps.damage,
    "membership": lambda one: one.gaps.membership,
    "auc": lambda one: one.gaps.auc,
    "relearn": lambda one: one.figures.relearn,
    "divergence": lambda one: one.gaps.divergence,
    "distance": lambda one: one.figures.distance,
}
"""Figures to summarise.  For damage, membership, auc and divergence: the gap to gold."""

BETTER_HIGH = frozenset({"ad_r_train", "ad_r_test", "relearn"})


@dataclass(frozen=True, slots=True)
class Summary:
    """One figure over all models.

    Attributes:
        tail: the value that 5 % of the models are worse than.
        worst: the worst model's.
        by_depth: mean by depth.
        times_floor: ratio of the mean to the mean of gold2, or, of models of sums, of `resampled`; None if
            it is meaningless.
    """

    mean: Estimate
    tail: Estimate
    worst: float
    by_depth: Mapping[int, float]
    times_floor: Estimate | None


@dataclass(frozen=True, slots=True)
class MethodSummary:
    """A method's row in a scenario.

    Attributes:
        models, seeds: how many.
        figures: by name, without figures that tell nothing at this level.
        passes, critical_path, prepared: sample passes, percent of gold's (its longest path for the
            critical path); None for reference rows.
        seconds: wall time a federation.
        stored_seconds, stored_bytes: time to make the increments stored at publication, and their size in
            memory; 0 without.
    """

    method: str
    models: int
    seeds: tuple[int, ...]
    figures: Mapping[str, Summary]
    verdict: Verdict
    passes: float | None
    critical_path: float | None
    prepared: float | None
    seconds: float
    stored_seconds: float
    stored_bytes: float


def summarise(results: Sequence[Result]) -> tuple[MethodSummary, ...]:
    """The methods of one scenario, references first, over the seeds that each has.

    Raises:
        RunError: a reference row is missing.
    """
    by_method: dict[str, dict[int, Result]] = {}
    for result in results:
        by_method.setdefault(result.row.method, {})[result.cell.seed] = result
    return tuple(_method(name, rows, by_method) for name, rows in by_method.items())


def _method(
    name: str, rows: Mapping[int, Result], by_method: Mapping[str, Mapping[int, Result]]
) -> MethodSummary:
    seeds = tuple(sorted(rows))
    placed, floor = (
        [one for seed in seeds for one in _placed(by_method, which, seed)] for which in (name, GOLD2)
    )
    resampled = None
    if RESAMPLED in by_method:
        resampled = [one for seed in seeds for one in _placed(by_method, RESAMPLED, seed)]
    gold = [by_method[GOLD][seed].cost for seed in seeds]
    costs = [rows[seed].cost for seed in seeds]

    def share(part: str, whole: str) -> float | None:
        shares = [
            100 * getattr(cost, part) / getattr(base, whole)
            for cost, base in zip(costs, gold, strict=True)
            if cost is not None and base is not None
        ]
        return fmean(shares) if shares else None

    return MethodSummary(
        method=name,
        models=len(placed),
        seeds=seeds,
        figures={figure: made for figure in FIGURES if (made := _figure(figure, placed, resampled or floor))},
        verdict=replace(
            judge(placed, floor, rows[seeds[0]].cell.level is Level.CLASS, resampled),
            exact=name == RESAMPLED or all(rows[seed].exact for seed in seeds),
            references=references_of(rows[seeds[0]].settings),
        ),
        passes=share("passes", "passes"),
        critical_path=share("critical_path", "critical_path"),
        prepared=share("prepared", "passes"),
        seconds=fmean(rows[seed].seconds for seed in seeds),
        stored_seconds=fmean(rows[seed].stored_seconds for seed in seeds),
        stored_bytes=fmean(rows[seed].stored_bytes for seed in seeds),
    )


def _placed(by_method: Mapping[str, Mapping[int, Result]], name: str, seed: int) -> list[Placed]:
    rows = []
    for which in (name, GOLD, ORIGINAL):
        result = by_method.get(which, {}).get(seed)
        if result is None:
            raise RunError(f"the row {which} of seed {seed} is not there: run the experiment for that seed.")
        rows.append(result.row)
    return place(rows[0], rows[1], rows[2], federation=seed)


def _figure(name: str, placed: Sequence[Placed], floor: Sequence[Placed]) -> Summary | None:
    read = FIGURES[name]
    values = [value for one in placed if (value := read(one)) is not None]
    least = [value for one in floor if (value := read(one)) is not None]
    if len(values) < len(placed) or len(least) < len(floor):
        return None
    counts = resample([one.federation for one in placed])
    worse = [-value for value in values] if name in BETTER_HIGH else values
    tail = worse_tail(worse, counts)
    if name in BETTER_HIGH:
        tail = Estimate(-tail.value, -tail.high, -tail.low)
    depths = sorted({one.figures.depth for one in placed})
    relative = name in RELATIVE
    return Summary(
        mean=mean(values, counts),
        tail=tail,
        worst=min(values) if name in BETTER_HIGH else max(values),
        by_depth={
            depth: fmean(
                value for one, value in zip(placed, values, strict=True) if one.figures.depth == depth
            )
            for depth in depths
        },
        times_floor=ratio(values, least, counts) if relative else None,
    )
