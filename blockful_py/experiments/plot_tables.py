# SPDX-License-Identifier: Apache-2.0
"""The paper's tables and ours in one picture: what is kept and what is left of the forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from matplotlib.axes import Axes

from blockful_py.experiments.comparison import Compared
from blockful_py.experiments.paper import MODELS
from blockful_py.experiments.tables import ORIGINAL
from blockful_py.report.plots.canvas import Theme, clear_frame, figure, png

LINE, TITLE = 0.2, 0.5  # inches a method, and around each table
LEFT, PANEL, GAP = 4.3, 3.1, 0.3  # inches
TOP, BOTTOM = 0.75, 0.35  # inches


def draw(compared: Sequence[Compared], theme: Theme) -> bytes:
    """PNG with two panels a table, AD_r and AD_f in percent: paper hollow, ours (held-out data) filled; a
    dot for each of r5, r6 and r8.  Methods of which neither has figures are left out."""
    shown = [each for each in compared if each.method != ORIGINAL and (each.printed or each.seeds)]
    tables = [(title, list(group)) for title, group in groupby(shown, lambda each: each.row.table)]
    width = LEFT + 2 * PANEL + 2 * GAP
    total = sum(len(group) * LINE + TITLE for _, group in tables) + TOP + BOTTOM
    with figure(width, total, theme) as drawn:
        top = total - TOP
        for title, group in tables:
            height = len(group) * LINE
            for number, figure_name in enumerate(("ad_r", "ad_f")):
                left = LEFT + number * (PANEL + GAP)
                axes = drawn.add_axes((left / width, (top - height) / total, PANEL / width, height / total))
                _panel(axes, figure_name, group, theme)
                if number == 0:
                    axes.set_yticks(range(len(group)), list(map(_label, group)), fontsize=7.5)
                    drawn.text(
                        0.12 / width, (top + 0.1) / total, title, fontsize=9.5, color=theme.ink
                    )  # fmt: skip
            top -= height + TITLE
        for number, label in enumerate(("AD_r, % (kept: higher is better)", "AD_f, % (forgotten: lower)")):
            drawn.text(
                (LEFT + number * (PANEL + GAP)) / width, 1 - 0.52 / total, label,
                fontsize=8.5, color=theme.ink,
            )  # fmt: skip
        drawn.text(
            0.12 / width, 1 - 0.2 / total,
            "Hollow: the paper, on its data and networks. Filled: ours, held-out data, mean over seeds. "
            "A dot for each of r5, r6, r8.",
            fontsize=8.5, color=theme.faint_ink, va="center",
        )  # fmt: skip
        return png(drawn)


def _label(each: Compared) -> str:
    return f"{each.row.title}: {each.method}"


def _panel(axes: Axes, name: str, group: Sequence[Compared], theme: Theme) -> None:
    colour = theme.parallel if name == "ad_r" else theme.start
    for place, each in enumerate(group):
        axes.axhline(place, color=theme.line, linewidth=0.5, zorder=1)
        if each.printed is not None:
            by_model = each.printed.ad_r if name == "ad_r" else each.printed.ad_f
            printed = [by_model[model] for model in MODELS]
            axes.plot(
                printed, [place - 0.16] * len(printed), "o",
                markersize=4, markerfacecolor="none", markeredgecolor=colour, zorder=2, clip_on=False,
            )  # fmt: skip
        ours = [value for model in MODELS if (value := each.mean(f"{name}_test", model)) is not None]
        axes.plot(
            ours,
            [place + 0.16] * len(ours),
            "o",
            color=colour,
            markersize=4,
            alpha=0.85,
            zorder=3,
            clip_on=False,
        )
    axes.set_xlim(0, 100)
    axes.set_ylim(len(group) - 0.4, -0.6)
    axes.set_yticks([])
    axes.grid(axis="x")
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=7)
    clear_frame(axes)
