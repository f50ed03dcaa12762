# SPDX-License-Identifier: Apache-2.0
"""Accuracy by class, for one or more states of every model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from blockful_py.report.plots.canvas import LIGHT, Theme, clear_frame, figure, heading, png

CELL = 0.3  # inches, if the cells carry accuracies
NUMBERED = 24
"""Maximum number of classes whose cells carry accuracies."""

PLAIN_WIDTH = 3.2  # inches of a panel whose cells carry no figures
MANY_MODELS, MOST_NAMED = 40, 80
"""Number of models above which rows are lower, and maximum number of named rows."""


@dataclass(frozen=True, slots=True)
class ClassPanel:
    """One state of the models.

    Attributes:
        accuracies: in %, by model (row) and class (column); None for a class without samples.
        calibration_errors: in %, by model.
    """

    title: str
    accuracies: Sequence[Sequence[float | None]]
    calibration_errors: Sequence[float]


def draw_classes(
    names: Sequence[str], panels: Sequence[ClassPanel], forget: Collection[int] = (), theme: Theme = LIGHT
) -> bytes:
    """PNG: one panel per state, one row per model, one column per class; darker is more accurate.

    Calibration errors are on the right.
    """
    classes = len(panels[0].accuracies[0])
    inside = classes * CELL if classes <= NUMBERED else PLAIN_WIDTH
    step, left = inside + 0.6, 0.25 + 0.075 * max(4, *map(len, names))
    width = max(left + len(panels) * step + 0.1, 7.2)
    row = 0.24 if len(names) <= MANY_MODELS else 0.13
    height = len(names) * row + 1.35
    with figure(width, height, theme) as drawn:
        for number, panel in enumerate(panels):
            at = ((left + number * step) / width, 0.5 / height, inside / width, len(names) * row / height)
            axes = drawn.add_axes(at)
            _draw(axes, panel, forget, theme)
            every = -(-len(names) // MOST_NAMED)
            shown = range(0, len(names), every)
            axes.set_yticks(shown, [names[i] for i in shown] if number == 0 else [""] * len(shown))
            axes.tick_params(axis="y", labelsize=9 if len(names) <= MANY_MODELS else 6)
        heading(drawn, "Accuracy on held-out data by class, % (right: calibration error, %)", left, theme)
        return png(drawn)


def _draw(axes: Axes, panel: ClassPanel, forget: Collection[int], theme: Theme) -> None:
    values = np.array([[np.nan if v is None else v for v in row] for row in panel.accuracies], dtype=float)
    models, classes = values.shape
    shades = LinearSegmentedColormap.from_list("shades", [theme.paper, theme.affected])
    axes.imshow(values, cmap=shades, vmin=0, vmax=100, aspect="auto", interpolation="nearest")
    if classes <= NUMBERED and models <= MANY_MODELS:
        for (model, label), value in np.ndenumerate(values):
            written = "–" if np.isnan(value) else f"{value:.0f}"
            colour = theme.on_colour if value > 60 else theme.ink
            axes.text(label, model, written, ha="center", va="center", fontsize=7, color=colour)
    for model, error in enumerate(panel.calibration_errors):
        axes.annotate(
            f"{error:.1f}",
            (classes - 0.5, model),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=7 if models <= MANY_MODELS else 5.5,
        )
    name_classes(axes, range(classes), forget, theme)
    for label in forget:
        for side in (label - 0.5, label + 0.5):
            axes.axvline(side, color=theme.start, linewidth=frame_width(classes))
    axes.set_xlabel("class (orange: to be forgotten)" if forget else "class", fontsize=8)
    axes.set_title(panel.title, loc="left", fontsize=9, color=theme.ink)
    clear_frame(axes)


def frame_width(classes: int) -> float:
    """Width in points of the lines around a class to be forgotten."""
    return 1.2 if classes <= NUMBERED else 0.5


def name_classes(axes: Axes, labels: Sequence[int], forget: Collection[int], theme: Theme) -> None:
    """Labels the columns with their classes; classes to be forgotten are orange."""
    every = 1 if len(labels) <= NUMBERED else -(-len(labels) // 10)
    shown = range(0, len(labels), every)
    axes.set_xticks(shown, [str(labels[place]) for place in shown])
    axes.tick_params(axis="x", labelsize=8)
    for tick in axes.get_xticklabels():
        if tick.get_text() in {str(label) for label in forget}:
            tick.set_color(theme.start)
            tick.set_fontweight("bold")
