# SPDX-License-Identifier: Apache-2.0
"""The figures (a) to (l) as one PNG, with the paper's axes: throughput and latency, a row of panels each."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from blockful_lab.experiments.scale.plan import NETWORKS, PBFT, POW
from blockful_lab.experiments.scale.points import ScalePoint
from blockful_py.report.plots.canvas import Theme, clear_frame, figure, heading, png

ROWS = (("ab", "cd"), ("ef", "gh"), ("ij", "kl"))
ACROSS = {
    "ab": "requests",
    "ef": "depth",
    "ij": "requests",
    "cd": "requests",
    "gh": "depth",
    "kl": "requests",
}
NAMES = {"requests": "unlearning requests", "depth": "depth of a request's chain"}
TITLES = {"ab": "sequential", "cd": "parallel", "ef": "sequential", "gh": "parallel"} | {
    "ij": "sequential, PBFT",
    "kl": "parallel, PBFT",
}
WIDTH, HEIGHT = 13.0, 9.4  # inches
LABORATORY = "laboratory"
LEGEND = (
    "Lines: simulated, 20 members, mean and range of the seeds. Diamonds: real, 4 members and two devnets on "
    "this machine, (a) to (d) chains of 2; dotted: these settings simulated."
)


def draw(points: Sequence[ScalePoint], theme: Theme) -> bytes:
    """PNG of four columns: throughput and latency of the sequential, then of the parallel paradigm."""
    colours = {PBFT: theme.affected, POW: theme.start, LABORATORY: theme.parallel} | dict(
        zip(NETWORKS, (theme.affected, theme.start, theme.parallel, theme.sequential), strict=True)
    )
    with figure(WIDTH, HEIGHT, theme) as drawn:
        grid = drawn.subplots(len(ROWS), 4)
        for row, pairs in enumerate(ROWS):
            for place, panels in enumerate(pairs):
                shown = [each for each in points if each.panels == panels]
                for side, (letter, name) in enumerate(zip(panels, ("throughput", "latency"), strict=True)):
                    axes = grid[row][2 * place + side]
                    _panel(axes, shown, name, colours, theme)
                    axes.set_title(f"({letter}) {TITLES[panels]}", fontsize=9, loc="left")
                    axes.set_xlabel(NAMES[ACROSS[panels]], fontsize=8)
                    axes.set_ylabel("requests/s" if name == "throughput" else "latency, s", fontsize=8)
            grid[row][0].legend(fontsize=7, loc="best", labelcolor=theme.ink)
        heading(drawn, LEGEND, 0.15, theme)
        drawn.subplots_adjust(left=0.06, right=0.99, top=0.925, bottom=0.06, wspace=0.34, hspace=0.42)
        return png(drawn)


def _panel(
    axes: Axes, points: Sequence[ScalePoint], name: str, colours: dict[str, str], theme: Theme
) -> None:
    axes.set_yscale("log")
    if any(each.kind == "real" for each in points) and ACROSS[points[0].panels] == "requests":
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="y")
    clear_frame(axes, ("left", "bottom"))
    axes.tick_params(which="both", length=0, labelsize=7.5)
    for curve, kind in dict.fromkeys((each.curve, each.kind) for each in points):
        line = sorted(
            (each for each in points if (each.curve, each.kind) == (curve, kind)), key=lambda each: each.x
        )
        x = [each.x for each in line]
        figures = [getattr(each, name) for each in line]
        y = [each.mean for each in figures]
        colour = colours[curve]
        if kind == "real":
            axes.plot(x, y, "D", color=colour, markersize=5.5, label="real", zorder=4)
        elif kind == "simulated laboratory":
            axes.plot(x, y, ":", color=colour, linewidth=1.4, label="real, simulated", zorder=3)
        else:
            axes.plot(x, y, "o-", color=colour, markersize=3.5, markerfacecolor=theme.paper, label=curve)
            low, high = [each.least for each in figures], [each.most for each in figures]
            axes.vlines(x, low, high, color=colour, linewidth=1.2)
