# SPDX-License-Identifier: Apache-2.0
"""The paper's tables and ours in one picture: AD_r and AD_f."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from matplotlib.axes import Axes

from blockful_lab.experiments.comparison import Compared
from blockful_lab.experiments.panels import in_rows, panel, words
from blockful_lab.experiments.paper import FULL, MODELS, SMALL
from blockful_lab.experiments.tables import ORIGINAL
from blockful_py.report.plots.canvas import Theme, figure, png

LINE, TITLE = 0.2, 0.5  # inches a method, and around each table
LEFT, PANEL, GAP = 4.3, 3.1, 0.3  # inches
TOP, BOTTOM = 0.85, 0.35  # inches
PANELS = {"ad_r": "AD_r, % (kept: higher is better)", "ad_f": "AD_f, % (forgotten: lower)"}

LEGEND = (
    "Hollow: the paper, on its data and networks. Filled: ours, held-out data, mean over seeds. "
    "A dot for each of r5, r6, r8."
)


def draw(compared: Sequence[Compared], theme: Theme) -> bytes:
    """PNG with two panels a table, AD_r and AD_f in percent.

    A dot is one of r5, r6 and r8: hollow in the paper, filled for ours on held-out data.  Methods without any
    figures are left out.
    """
    shown = [each for each in compared if each.method != ORIGINAL and (each.printed or each.seeds)]
    tables = [(title, list(group)) for title, group in groupby(shown, lambda each: each.row.table)]
    width = LEFT + 2 * PANEL + 2 * GAP
    total = sum(len(group) * LINE + TITLE for _, group in tables) + TOP + BOTTOM
    with figure(width, total, theme) as drawn:
        top = total - TOP
        for title, group in tables:
            words(drawn, 0.12, top + 0.12, title, 9.5, theme.ink)
            for number, name in enumerate(PANELS):
                axes = panel(drawn, LEFT + number * (PANEL + GAP), top, PANEL, len(group) * LINE)
                _panel(axes, name, group, theme)
                in_rows(axes, len(group), None if number else list(map(_label, group)))
            top -= len(group) * LINE + TITLE
        for number, label in enumerate(PANELS.values()):
            words(drawn, LEFT + number * (PANEL + GAP), total - 0.46, label, 8.5, theme.ink)
        words(drawn, 0.12, total - 0.2, LEGEND, 8.5, theme.faint_ink)
        return png(drawn)


def _label(each: Compared) -> str:
    row, network = each.row, each.setting.network
    usual = network in (FULL[row.network], SMALL[row.data].network)
    return f"{row.title}{'' if usual else f' ({network})'}: {each.method}"


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
            ours, [place + 0.16] * len(ours), "o",
            color=colour, markersize=4, alpha=0.85, zorder=3, clip_on=False,
        )  # fmt: skip
    axes.set_xlim(0, 100)
