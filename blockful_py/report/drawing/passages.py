# SPDX-License-Identifier: Apache-2.0
"""Charts of a figure before and after: one row per model, one mark per state."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from blockful_py.report.measures import AD_R, MEMBERSHIP, Measure, concerned, left, mean_outside, ran
from blockful_py.report.schema import ModelEntry, Report

MAGNIFIED = 0.5
"""Share of the possible range below which the values' span gets its own axis."""
NARROWEST = 0.05
"""Minimum share of the possible range on an axis, so that noise does not look like a difference."""
STEPS = (1, 2, 2.5, 5, 10)
MOST_TICKS = 6


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis from `low` to `high`, within the possible range from `least` to `most`."""

    least: float
    most: float
    low: float
    high: float
    ticks: tuple[float, ...]

    @classmethod
    def over(cls, values: Iterable[float], least: float, most: float) -> Axis:
        """An axis for values within [least, most]: the whole range, or the part that they span."""
        known = list(values)
        whole = most - least
        if not known or max(known) - min(known) >= MAGNIFIED * whole:
            return cls(least, most, least, most, _ticks(least, most, whole / 4))
        span = max(max(known) - min(known), NARROWEST * whole)
        middle = (min(known) + max(known)) / 2
        bottom = min(max(middle - span / 2, least), most - span)
        top = bottom + span
        step = _step((top - bottom) / (MOST_TICKS - 2))
        low = max(math.floor(bottom / step + 1e-9) * step, least)
        high = min(math.ceil(top / step - 1e-9) * step, most)
        return cls(least, most, low, high, _ticks(low, high, step))

    @property
    def is_cut(self) -> bool:
        """Whether the axis begins above the least possible value, so that lengths are not proportional."""
        return self.low > self.least

    def at(self, value: float) -> float:
        """Place of a value, in percent of the axis."""
        return round(100 * (value - self.low) / (self.high - self.low), 2)


def _step(least: float) -> float:
    """The smallest round number that is at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * each for each in STEPS if power * each >= least * (1 - 1e-9))


def _ticks(low: float, high: float, step: float) -> tuple[float, ...]:
    return tuple(round(low + number * step, 6) for number in range(round((high - low) / step + 1e-9) + 1))


BEFORE = "before"


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark; `state` is "before" or the paradigm, `at` the place on the axis in percent."""

    state: str
    value: float
    at: float


@dataclass(frozen=True, slots=True)
class PassageRow:
    """A row of a model; `heading` names the group that begins here, or is None inside a group."""

    model: ModelEntry
    heading: str | None
    marks: tuple[Mark, ...]
    text: str
    tip: str

    @property
    def span(self) -> tuple[float, float] | None:
        """Outermost places of the marks."""
        places = [mark.at for mark in self.marks]
        return (min(places), max(places)) if places else None


@dataclass(frozen=True, slots=True)
class PassageChart:
    """A chart; `landmark` is a reference value and its label, or None."""

    measure: Measure
    axis: Axis
    rows: tuple[PassageRow, ...]
    states: tuple[str, ...]
    landmark: tuple[float, str] | None


def passage_charts(report: Report) -> list[PassageChart]:
    """Charts of what remains of the forgotten data, and of the rest."""
    return [_chart(report, measure) for measure in (left(report), AD_R)]


def passage(report: Report, model: ModelEntry, measure: Measure) -> list[tuple[str, float | None]]:
    """The figure in every state of the run; None if it was not measured or the model was left alone."""
    after = [(paradigm.value, measure.of(model.after(paradigm))) for paradigm in ran(report)]
    return [(BEFORE, measure.of(model.before)), *after]


def _chart(report: Report, measure: Measure) -> PassageChart:
    models = concerned(report)
    found = {model.name: passage(report, model, measure) for model in models}
    values = [value for states in found.values() for _, value in states if value is not None]
    landmark = _landmark(report) if measure is MEMBERSHIP else None
    axis = Axis.over([*values, *([landmark[0]] if landmark else [])], measure.least, measure.most)
    rows, depth = [], None
    for model in models:
        heading = None if model.depth == depth else "starts" if model.depth == 0 else f"depth {model.depth}"
        depth = model.depth
        states = found[model.name]
        rows.append(
            PassageRow(
                model,
                heading,
                tuple(
                    Mark(state, value, axis.at(min(max(value, axis.low), axis.high)))
                    for state, value in states
                    if value is not None
                ),
                " → ".join(measure.bare(value) for _, value in states),
                "\n".join(
                    [f"{model.name}: {measure.name}", *(f"{s}: {measure.written(v)}" for s, v in states)]
                ),
            )
        )
    return PassageChart(measure, axis, tuple(rows), (BEFORE, *map(str, ran(report))), landmark)


def _landmark(report: Report) -> tuple[float, str]:
    """The mean of models that never learnt from the data, which shows how hard its samples are; else 0.5."""
    outside = mean_outside(report, MEMBERSHIP)
    if outside is None:
        return 0.5, "0.500, as by chance"
    return outside, f"{outside:.3f}, the mean of the models that the request does not reach"
