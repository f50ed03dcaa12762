# SPDX-License-Identifier: Apache-2.0
"""Number of training samples by user and class."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from blockful_py.report.plots.canvas import LIGHT, Theme, clear_frame, figure, heading, png

CELL = 0.42  # inches, if the cells carry counts
WIDEST, TALLEST = 13.0, 16.0  # inches
NUMBERED = 24
"""Maximum number of classes whose cells carry counts."""


@dataclass(frozen=True, slots=True)
class Holdings:
    """Training samples by user (row) and class (column).

    Attributes:
        title: data set and how it was divided.
        forget: classes to be forgotten.
        holders: users of the starts, from 1.
    """

    counts: Sequence[Sequence[int]]
    title: str
    forget: Collection[int] = ()
    holders: Collection[int] = ()


def draw_holdings(holdings: Holdings, theme: Theme = LIGHT) -> bytes:
    """PNG: a cell per user and class, darker for more samples; each user's total on the right."""
    counts = np.asarray(holdings.counts, dtype=np.int64)
    users, classes = counts.shape
    is_numbered = classes <= NUMBERED
    width = min(WIDEST, max(7.2, classes * (CELL if is_numbered else 0.07) + 3.4))
    height = min(TALLEST, users * (0.3 if users <= 40 else 0.13) + 1.5)
    with figure(width, height, theme) as drawn:
        cells, totals = drawn.subplots(1, 2, sharey=True, width_ratios=(width - 2.6, 1.4))
        shades = LinearSegmentedColormap.from_list("shades", [theme.paper, theme.affected])
        cells.imshow(counts, cmap=shades, aspect="auto", vmin=0, interpolation="nearest")
        if is_numbered:
            _number(cells, counts, theme)
        _label(cells, users, classes, holdings, theme)
        totals.barh(range(users), counts.sum(1), height=0.7, color=theme.before)
        for user, total in enumerate(counts.sum(1)):
            if users <= 40:
                totals.annotate(
                    f"{total:,}",
                    (total, user),
                    xytext=(3, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=7.5,
                )
        totals.set_xlim(0, max(1, counts.sum(1).max()) * 1.4)
        totals.set_xticks([])
        totals.set_title("all", loc="left", fontsize=9, color=theme.ink)
        totals.tick_params(labelleft=False)
        clear_frame(totals, keep=("left",))
        heading(drawn, holdings.title, 0.62, theme)
        drawn.subplots_adjust(
            left=0.62 / width, right=1 - 0.1 / width, top=1 - 0.68 / height, bottom=0.55 / height, wspace=0.03
        )
        return png(drawn)


def _number(axes: Axes, counts: np.ndarray[tuple[int, ...], np.dtype[np.int64]], theme: Theme) -> None:
    dark = 0.7 * counts.max()
    for (user, label), count in np.ndenumerate(counts):
        if count:
            colour = theme.on_colour if count > dark else theme.ink
            axes.text(label, user, str(count), ha="center", va="center", fontsize=7.5, color=colour)


def _label(axes: Axes, users: int, classes: int, holdings: Holdings, theme: Theme) -> None:
    """Labels users and classes; the request's are bold, coloured and framed."""
    every_class, every_user = (max(1, -(-count // 40)) for count in (classes, users))
    shown_classes = sorted({*range(0, classes, every_class)} | {c for c in holdings.forget if classes <= 40})
    axes.set_xticks(shown_classes, [str(label) for label in shown_classes])
    axes.set_yticks(range(0, users, every_user), [str(user + 1) for user in range(0, users, every_user)])
    axes.set_xlabel("class (orange: to be forgotten)" if holdings.forget else "class")
    axes.set_ylabel("user (orange: of a start)" if holdings.holders else "user")
    marked = (
        (axes.get_xticklabels(), {str(label) for label in holdings.forget}),
        (axes.get_yticklabels(), {str(user) for user in holdings.holders}),
    )
    for ticks, names in marked:
        for tick in ticks:
            if tick.get_text() in names:
                tick.set_color(theme.start)
                tick.set_fontweight("bold")
    for label in holdings.forget:
        for side in (label - 0.5, label + 0.5):
            axes.axvline(side, color=theme.start, linewidth=1.2)
    clear_frame(axes)
