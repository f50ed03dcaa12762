# SPDX-License-Identifier: Apache-2.0
"""Confusion matrices and reliability diagrams."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from blockful_py.report.plots.canvas import LIGHT, Theme, clear_frame, figure, heading, png
from blockful_py.report.plots.classes import NUMBERED, frame_width, name_classes

CELL = 0.3  # inches, where shares are written in the cells
SIDE = 4.2  # inches of a matrix whose cells hold no figures

Counts = Sequence[Sequence[int]]
"""Samples by true (row) and predicted (column) class."""

Reliability = Sequence[tuple[float, float, int]]
"""(mean confidence, accuracy, samples), shares from 0 to 1, of each group of samples."""


def draw_confusions(
    panels: Mapping[str, Counts],
    forget: Collection[int] = (),
    theme: Theme = LIGHT,
    reliability: Reliability | None = None,
) -> bytes:
    """PNG: a matrix a state, each row the shares of a true class; on the right the reliability diagram."""
    classes = len(next(iter(panels.values())))
    side = max(classes * CELL, 2.2) if classes <= NUMBERED else SIDE
    parts = len(panels) + (reliability is not None)
    width, height = max(0.62 + parts * (side + 0.62), 7.2), side + 1.3
    with figure(width, height, theme) as drawn:
        spots = [
            ((0.62 + i * (side + 0.62)) / width, 0.55 / height, side / width, side / height)
            for i in range(parts)
        ]
        for number, (title, counts) in enumerate(panels.items()):
            axes = drawn.add_axes(spots[number])
            _matrix(axes, counts, forget, theme)
            axes.set_title(title, loc="left", fontsize=9, color=theme.ink)
            axes.set_ylabel("true class" if number == 0 else "", fontsize=8)
        if reliability is not None:
            _diagram(drawn.add_axes(spots[-1]), reliability, theme)
        heading(drawn, "What each class is taken for, % of its held-out samples", 0.62, theme)
        return png(drawn)


def _matrix(axes: Axes, counts: Counts, forget: Collection[int], theme: Theme) -> None:
    table = np.asarray(counts, dtype=float)
    shares = 100 * table / np.maximum(table.sum(1, keepdims=True), 1)
    shades = LinearSegmentedColormap.from_list("shades", [theme.paper, theme.affected])
    axes.imshow(shares, cmap=shades, vmin=0, vmax=100, aspect="auto", interpolation="nearest")
    if len(shares) <= NUMBERED:
        for (truth, predicted), share in np.ndenumerate(shares):
            if share >= 0.5:
                colour = theme.on_colour if share > 60 else theme.ink
                axes.text(
                    predicted, truth, f"{share:.0f}", ha="center", va="center", fontsize=7, color=colour
                )
    name_classes(axes, len(shares), forget, theme)
    axes.set_xlabel("predicted class", fontsize=8)
    named = axes.get_xticklabels()
    axes.set_yticks(axes.get_xticks(), [tick.get_text() for tick in named])
    axes.tick_params(axis="y", labelsize=8)
    for tick, below in zip(axes.get_yticklabels(), named, strict=True):
        tick.set(color=below.get_color(), fontweight=below.get_fontweight())
    for label in forget:
        for side in (label - 0.5, label + 0.5):
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
