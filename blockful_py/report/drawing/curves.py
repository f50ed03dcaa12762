# SPDX-License-Identifier: Apache-2.0
"""Learning curves: training loss and accuracy by epoch, one panel per model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from blockful_py.report.schema import ModelEntry, Report
from blockful_py.report.sections import LearningCurve

WIDTH, HEIGHT = 100.0, 100.0
"""Size of a panel in its own units; the page stretches it."""
LEAST_LOSS = 1e-4
"""Minimum loss in nats that is drawn; smaller losses are raised to it."""


@dataclass(frozen=True, slots=True)
class Panel:
    """A model's curve: its polyline, its values by epoch as text, and the last one in short."""

    model: ModelEntry
    points: tuple[tuple[float, float], ...]
    values: tuple[str, ...]
    last: str


@dataclass(frozen=True, slots=True)
class CurveBlock:
    """One figure of all models; `low` and `high` label the ends of each panel's axis."""

    title: str
    unit: str
    low: str
    high: str
    panels: tuple[Panel, ...]


def curve_blocks(report: Report) -> list[CurveBlock]:
    """Losses on a logarithmic axis, accuracies from 0 to 100 %; empty for a report without curves."""
    shown = [(model, curve) for model in report.models if (curve := model.learning_curve) is not None]
    if not shown:
        return []
    losses = [max(value, LEAST_LOSS) for _, curve in shown for value in curve.loss]
    low, high = math.floor(math.log10(min(losses))), math.ceil(math.log10(max(losses)))
    high = max(high, low + 1)

    def of_loss(value: float) -> float:
        return (math.log10(max(value, LEAST_LOSS)) - low) / (high - low)

    def panels(
        values: Callable[[LearningCurve], Sequence[float]],
        height: Callable[[float], float],
        form: str,
        short: str,
    ) -> tuple[Panel, ...]:
        return tuple(
            Panel(
                model,
                _points(values(curve), height),
                tuple(form.format(value) for value in values(curve)),
                short.format(values(curve)[-1]),
            )
            for model, curve in shown
        )

    return [
        CurveBlock(
            "Loss, logarithmic axis",
            " nats",
            f"{10.0**low:g}",
            f"{10.0**high:g}",
            panels(lambda curve: curve.loss, of_loss, "{:.3g}", "{:.2g}"),
        ),
        CurveBlock(
            "Accuracy",
            " %",
            "0",
            "100",
            panels(lambda curve: curve.accuracy, lambda value: value / 100, "{:.1f}", "{:.1f}"),
        ),
    ]


def _points(values: Sequence[float], height: Callable[[float], float]) -> tuple[tuple[float, float], ...]:
    """Points of a polyline; a single epoch becomes a level line."""
    drawn = list(values) * 2 if len(values) == 1 else list(values)
    steps = max(len(drawn) - 1, 1)
    return tuple(
        (round(WIDTH * step / steps, 2), round(HEIGHT * (1 - height(value)), 2))
        for step, value in enumerate(drawn)
    )
