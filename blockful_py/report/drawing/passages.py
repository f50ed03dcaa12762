# SPDX-License-Identifier: Apache-2.0
"""Charts of a figure before and after: one row per model, one mark per state."""

from __future__ import annotations

from dataclasses import dataclass

from blockful_py.report.drawing.axis import Axis
from blockful_py.report.measures import AD_R, MEMBERSHIP, Measure, concerned, left, mean_outside, ran
from blockful_py.report.schema import ModelEntry, Report

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
