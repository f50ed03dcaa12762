# SPDX-License-Identifier: Apache-2.0
"""Tables shaded by percentages: accuracy by class, and confusions of classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from blockful_py.report.measures import concerned, ran
from blockful_py.report.schema import Report
from blockful_py.report.sections import READABLE_CLASSES, Accuracies

SHADES = 10
"""Number of shades from none to full; the style sheet has a colour for each."""


@dataclass(frozen=True, slots=True)
class ShadedCell:
    """A shaded cell; `value` is in percent, or None if there are no samples to measure on."""

    value: float | None
    shade: int
    text: str


@dataclass(frozen=True, slots=True)
class ShadedRow:
    """A row; `aside` is text after the cells, `model` the index of its model in the report, or None."""

    name: str
    cells: tuple[ShadedCell, ...]
    aside: str = ""
    model: int | None = None


@dataclass(frozen=True, slots=True)
class ShadedTable:
    """A table of one state of the models."""

    title: str
    rows: tuple[ShadedRow, ...]


def class_count(report: Report) -> int:
    """Number of classes; 0 for a report without figures by class."""
    return max((len(model.before.per_class) for model in report.models), default=0)


def shown_classes(report: Report) -> tuple[int, ...]:
    """Classes shown in the class tables, ascending: all, or `READABLE_CLASSES` of them.

    Classes to be forgotten have priority, then the classes that lost most accuracy.
    """
    classes = range(class_count(report))
    if len(classes) <= READABLE_CLASSES:
        return tuple(classes)
    lost = dict.fromkeys(classes, 0.0)
    for model in concerned(report):
        for after in filter(None, (model.after(paradigm) for paradigm in ran(report))):
            for label, (was, now) in enumerate(zip(model.before.per_class, after.per_class, strict=False)):
                lost[label] += (was or 0) - (now or 0)
    order = sorted(classes, key=lambda label: (label not in report.forget.classes, -lost[label], label))
    return tuple(sorted(order[:READABLE_CLASSES]))


def class_tables(report: Report) -> list[ShadedTable]:
    """Accuracy of the starts and affected models on the `shown_classes`, and the calibration error.

    Empty for a report without these figures.
    """
    shown = shown_classes(report)
    place = {model.name: number for number, model in enumerate(report.models)}
    models = [model for model in concerned(report) if model.before.calibration_error is not None]
    states: list[tuple[str, list[Accuracies]]] = [("before", [model.before for model in models])]
    states += [
        (f"after {paradigm}", [model.after(paradigm) or model.before for model in models])
        for paradigm in ran(report)
    ]
    return [
        ShadedTable(
            title,
            tuple(
                ShadedRow(
                    model.name,
                    tuple(_cell(figures.per_class[label]) for label in shown),
                    f"{figures.calibration_error or 0:.1f}",
                    place[model.name],
                )
                for model, figures in zip(models, state, strict=True)
            ),
        )
        for title, state in (states if models else [])
    ]


def confusion_tables(report: Report) -> list[ShadedTable]:
    """Shares of each true class (row) by predicted class, in percent; empty for a report without them."""
    found = report.confusions
    if found is None:
        return []
    states = {"before": found.before, "after parallel": found.parallel, "after sequential": found.sequential}
    return [
        ShadedTable(title, tuple(ShadedRow(str(label), _shares(row)) for label, row in enumerate(table)))
        for title, table in states.items()
        if table is not None
    ]


def _shares(row: Sequence[int]) -> tuple[ShadedCell, ...]:
    """Cells of a row; cells below half a percent stay empty, so that the relevant ones stand out."""
    total = sum(row)
    if not total:
        return tuple(ShadedCell(None, 0, "") for _ in row)
    cells = (_cell(100 * count / total) for count in row)
    return tuple(
        ShadedCell(c.value, c.shade, c.text if c.value is None or c.value >= 0.5 else "") for c in cells
    )


def _cell(value: float | None) -> ShadedCell:
    if value is None:
        return ShadedCell(None, 0, "–")
    return ShadedCell(value, round(value * SHADES / 100), f"{value:.0f}")
