# SPDX-License-Identifier: Apache-2.0
"""Figures that show a request's effect: what remains of the forgotten data, and of the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from blockful_py.report.schema import ModelEntry, Report
from blockful_py.report.sections import Accuracies
from blockful_py.types import Paradigm


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure of a model.

    Attributes:
        figure: its field of `Accuracies`.
        least, most: ends of its range.
    """

    figure: str
    name: str
    title: str
    meaning: str
    unit: str
    digits: int
    least: float
    most: float

    def of(self, accuracies: Accuracies | None) -> float | None:
        value: float | None = None if accuracies is None else getattr(accuracies, self.figure)
        return value

    def written(self, value: float | None) -> str:
        """The value with its unit; a dash if it was not measured."""
        return "–" if value is None else f"{value:.{self.digits}f}{self.unit}"

    def bare(self, value: float | None) -> str:
        return "–" if value is None else f"{value:.{self.digits}f}"


AD_F = Measure(
    "ad_f", "AD_f", "Still knows what to forget", "accuracy on what was to be forgotten, lower is better",
    " %", 1, 0, 100,
)  # fmt: skip
AD_F_LIKE = Measure(
    "ad_f", "AD_f", "Knows samples like those forgotten",
    "accuracy on samples like those forgotten, which models know from others too", " %", 1, 0, 100,
)  # fmt: skip
AD_R = Measure("ad_r", "AD_r", "Knows the rest", "accuracy on the rest, higher is better", " %", 1, 0, 100)
MEMBERSHIP = Measure(
    "membership_auc", "membership AUC", "Tells forgotten samples from unseen ones",
    "how often confidence tells forgotten training samples from unseen ones of their classes; 0.5 by chance",
    "", 3, 0, 1,
)  # fmt: skip

LOGIT_AUC = Measure(
    "logit_auc", "AUC of the logit", "Tells the class apart behind the output",
    "how often the class's logit is higher for a sample of the class than for one of the rest", "", 3, 0, 1,
)  # fmt: skip


def left(report: Report) -> Measure:
    """The measure of what remains of the forgotten data.

    For clients and samples, AD_f says nothing, since models know their classes from others; membership does,
    if it was measured.
    """
    if report.forget.classes:
        return AD_F
    is_measured = any(model.before.membership_auc is not None for model in concerned(report))
    return MEMBERSHIP if is_measured else AD_F_LIKE


def is_ranked(report: Report) -> bool:
    """Whether the AUC of a class's logit was measured."""
    return any(model.before.logit_auc is not None for model in concerned(report))


def concerned(report: Report) -> list[ModelEntry]:
    """Starts and affected models by depth, then in the order of publication."""
    return sorted((m for m in report.models if m.affected or m.start), key=lambda m: m.depth or 0)


def ran(report: Report) -> list[Paradigm]:
    """The paradigms that the run executed, parallel first."""
    return [paradigm for paradigm, _ in report.operations.each()]


def mean_before(report: Report, measure: Measure) -> float | None:
    """Mean over the starts and affected models before unlearning."""
    return _mean([measure.of(model.before) for model in concerned(report)])


def mean_after(report: Report, measure: Measure, paradigm: Paradigm) -> float | None:
    """Mean over the starts and affected models after; a model left alone keeps its value from before."""
    if not any(model.after(paradigm) for model in report.models):
        return None
    return _mean([measure.of(model.after(paradigm) or model.before) for model in concerned(report)])


def mean_at_starts(report: Report, measure: Measure, paradigm: Paradigm | None = None) -> float | None:
    """Mean over the starts, before unlearning or after a paradigm."""
    starts = [model for model in report.models if model.start]
    if paradigm is None:
        return _mean([measure.of(model.before) for model in starts])
    return _mean([measure.of(model.after(paradigm) or model.before) for model in starts])


def mean_outside(report: Report, measure: Measure) -> float | None:
    """Mean over the models outside the request's reach."""
    return _mean([measure.of(m.before) for m in report.models if not (m.affected or m.start)])


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


class Role(StrEnum):
    START = "start"
    AFFECTED = "affected"
    BELOW_EPSILON = "below epsilon"
    UNTOUCHED = "untouched"


def role_of(model: ModelEntry) -> Role:
    if model.start:
        return Role.START
    if model.below_epsilon:
        return Role.BELOW_EPSILON
    return Role.AFFECTED if model.affected else Role.UNTOUCHED
