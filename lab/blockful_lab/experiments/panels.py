# SPDX-License-Identifier: Apache-2.0
"""Panels with a row for each method, placed in inches."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from blockful_py.report.plots.canvas import clear_frame


def panel(drawn: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Adds axes at `left` from the figure's left edge and `top` from its bottom edge, all in inches."""
    across, up = drawn.get_size_inches()
    return drawn.add_axes((left / across, (top - height) / up, width / across, height / up))


def words(drawn: Figure, left: float, top: float, text: str, size: float, colour: str) -> None:
    """Writes text that begins at a place, in inches as for `panel`."""
    across, up = drawn.get_size_inches()
    drawn.text(left / across, top / up, text, fontsize=size, color=colour, va="center")


def in_rows(axes: Axes, count: int, labels: list[str] | None = None) -> None:
    """Puts the first row on top, `labels` beside the rows, and a grid instead of a frame."""
    axes.set_ylim(count - 0.4, -0.6)
    if labels is None:
        axes.set_yticks([])
    else:
        axes.set_yticks(range(count), labels)
    axes.grid(axis="x")
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=7.5)
    clear_frame(axes)
