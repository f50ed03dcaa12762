# SPDX-License-Identifier: Apache-2.0
"""Confusion matrices and reliability diagrams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from numpy.typing import NDArray

from blockful_py.report.plots.canvas import LIGHT, Theme, clear_frame, figure, heading, png
from blockful_py.report.plots.classes import NUMBERED, frame_width, name_classes

CELL = 0.3  # inches, if the cells carry shares
SIDE = 4.2  # inches of a matrix whose cells carry no figures

DRAWN = 100
"""Maximum number of classes in a matrix."""

Cells = Sequence[tuple[int, int, int]]
"""(true class, predicted class, samples) for each pair that occurs."""

Reliability = Sequence[tuple[float, float, int]]
"""(mean confidence, accuracy, samples) of each bin; shares from 0 to 1."""


def draw_confusions(
    panels: Mapping[str, Cells],
    class_count: int,
    forget: Collection[int] = (),
    theme: Theme = LIGHT,
    reliability: Reliability | None = None,
) -> bytes:
    """PNG: one matrix per state, whose rows are the shares of a true class, and a reliability diagram.

    With more than `DRAWN` classes, it shows the classes to be forgotten and the most mistaken ones, and says
    so.
    """
    labels = _drawn([cell for cells in panels.values() for cell in cells], class_count, forget)
    classes = len(labels)
    side = max(classes * CELL, 2.2) if classes <= NUMBERED else SIDE
    parts = len(panels) + (reliability is not None)
    width, height = max(0.62 + parts * (side + 0.62), 7.2), side + 1.3
    with figure(width, height, theme) as drawn:
        spots = [
            ((0.62 + i * (side + 0.62)) / width, 0.55 / height, side / width, side / height)
            for i in range(parts)
        ]
        for number, (title, cells) in enumerate(panels.items()):
            axes = drawn.add_axes(spots[number])
            _matrix(axes, _shares(cells, labels), labels, forget, theme)
            axes.set_title(title, loc="left", fontsize=9, color=theme.ink)
            axes.set_ylabel("true class" if number == 0 else "", fontsize=8)
        if reliability is not None:
            _diagram(drawn.add_axes(spots[-1]), reliability, theme)
        some = f" ({classes} of {class_count:,} classes, most mistakes)" if classes < class_count else ""
        heading(drawn, f"What each class is taken for, % of its held-out samples{some}", 0.62, theme)
        return png(drawn)


def _drawn(cells: Cells, class_count: int, forget: Collection[int]) -> list[int]:
    """The drawn classes, ascending."""
    mistakes: Counter[int] = Counter()
    for truth, predicted, samples in cells:
        mistakes[truth] += samples * (truth != predicted)
    order = sorted(range(class_count), key=lambda label: (label not in forget, -mistakes[label], label))
    return sorted(order[:DRAWN])


def _shares(cells: Cells, labels: Sequence[int]) -> NDArray[np.float64]:
    """Percent of each true class (row) by predicted class (column), shape (classes, classes).

    A row sums to less than 100 if its class is also mistaken for classes that are not drawn.
    """
    place = {label: number for number, label in enumerate(labels)}
    table, total = np.zeros((len(labels), len(labels))), np.zeros((len(labels), 1))
    for truth, predicted, samples in cells:
        if truth in place:
            total[place[truth]] += samples
            if predicted in place:
                table[place[truth], place[predicted]] += samples
    return 100 * table / np.maximum(total, 1)


def _matrix(
    axes: Axes, shares: NDArray[np.float64], labels: Sequence[int], forget: Collection[int], theme: Theme
) -> None:
    shades = LinearSegmentedColormap.from_list("shades", [theme.paper, theme.affected])
    axes.imshow(shares, cmap=shades, vmin=0, vmax=100, aspect="auto", interpolation="nearest")
    if len(shares) <= NUMBERED:
        for (truth, predicted), share in np.ndenumerate(shares):
            if share >= 0.5:
                colour = theme.on_colour if share > 60 else theme.ink
                axes.text(
                    predicted, truth, f"{share:.0f}", ha="center", va="center", fontsize=7, color=colour
                )
    name_classes(axes, labels, forget, theme)
    axes.set_xlabel("predicted class", fontsize=8)
    named = axes.get_xticklabels()
    axes.set_yticks(axes.get_xticks(), [tick.get_text() for tick in named])
    axes.tick_params(axis="y", labelsize=8)
    for tick, below in zip(axes.get_yticklabels(), named, strict=True):
        tick.set(color=below.get_color(), fontweight=below.get_fontweight())
    for place in (number for number, label in enumerate(labels) if label in forget):
        for side in (place - 0.5, place + 0.5):
            axes.axhline(side, color=theme.start, linewidth=frame_width(len(shares)))
    clear_frame(axes)


def _diagram(axes: Axes, reliability: Reliability, theme: Theme) -> None:
    """Accuracy over confidence; the area of a mark is its share of the samples."""
    confidence, accuracy, samples = (np.asarray(each, dtype=float) for each in zip(*reliability, strict=True))
    axes.plot([0, 100], [0, 100], color=theme.line, linewidth=1.0, zorder=1)
    axes.scatter(
        100 * confidence,
        100 * accuracy,
        s=12 + 200 * samples / samples.sum(),
        color=theme.affected,
        clip_on=False,
        zorder=3,
    )
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 100)
    axes.set_xlabel("confidence, %", fontsize=8)
    axes.set_ylabel("accuracy, %", fontsize=8)
    axes.set_title("on the line: calibrated", loc="left", fontsize=9, color=theme.ink)
    axes.grid(True)
    axes.set_axisbelow(True)
    clear_frame(axes)
