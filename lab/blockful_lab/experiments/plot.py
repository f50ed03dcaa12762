# SPDX-License-Identifier: Apache-2.0
"""Gaps to gold against the noise floor, method by method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from blockful_lab.experiments.panels import in_rows, panel, words
from blockful_lab.experiments.summary import MethodSummary
from blockful_lab.experiments.tabulate import Scenario, title
from blockful_py.report.plots.canvas import Theme, figure, png
from blockful_py.verdicts.references import GOLD, GOLD2, HEAD_MASK, ORIGINAL
from blockful_py.verdicts.statistics import Estimate
from blockful_py.verdicts.verdict import ALLOWED_RATIO, CLOSED

PANELS = (
    ("membership", "membership gap"),
    ("auc", "AUC gap"),
    ("divergence", "JS divergence"),
    ("relearn", "relearn gap closed, %"),
    ("damage", "AD_r less gold's, points"),
)
ROW, TITLE = 0.19, 0.75  # inches a method, and around each scenario
LEFT, WIDTH = 1.75, 13.0  # inches
LOWEST, HIGHEST = 0.3, 30.0
CLOSED_ENDS = (-50.0, 250.0)
DAMAGE_ENDS = (-12.0, 6.0)
"""Ends of the axes; values beyond are drawn at the end."""

LEGEND = (
    "Distance from models that never knew: 1 is the noise floor (gold2), dashed what is allowed. "
    "Lines: 95 % bootstrap intervals. Squares: references; circles: forgotten; diamonds: exact; triangles: "
    "not."
)


def draw(summaries: Mapping[Scenario, Sequence[MethodSummary]], theme: Theme) -> bytes:
    """PNG with a row of panels a scenario: four gaps as multiples of the floor, the relearn gap, AD_r."""
    shown = {
        scenario: [method for method in methods if method.method != GOLD]
        for scenario, methods in summaries.items()
    }
    heights = [len(methods) * ROW + TITLE for methods in shown.values()]
    total = sum(heights) + 0.45
    span = (WIDTH - LEFT - 0.15) / len(PANELS)
    with figure(WIDTH, total, theme) as drawn:
        top = total - 0.75
        for (scenario, methods), height in zip(shown.items(), heights, strict=True):
            for number, (name, label) in enumerate(PANELS):
                axes = panel(drawn, LEFT + number * span, top, span - 0.15, len(methods) * ROW)
                _panel(axes, name, methods, theme)
                in_rows(
                    axes, len(methods), None if number else [_label(each, methods[0]) for each in methods]
                )
                axes.set_xlabel(label, fontsize=8)
            words(drawn, 0.15, top + 0.12, _heading(scenario, methods), 9.5, theme.ink)
            top -= height
        words(drawn, 0.15, total - 0.16, LEGEND, 9, theme.faint_ink)
        return png(drawn)


def _heading(scenario: Scenario, methods: Sequence[MethodSummary]) -> str:
    first = methods[0]
    return f"{title(*scenario)} (seeds {', '.join(map(str, first.seeds))}; n = {first.models})"


def _label(method: MethodSummary, first: MethodSummary) -> str:
    """The method, and its number of seeds if the heading has another one."""
    return method.method + (f" ({len(method.seeds)} seeds)" if method.seeds != first.seeds else "")


def _panel(axes: Axes, name: str, methods: Sequence[MethodSummary], theme: Theme) -> None:
    if name not in ("relearn", "damage"):
        axes.set_xscale("log")
        axes.set_xlim(LOWEST, HIGHEST)
        axes.set_xticks([0.5, 1, 2, 5, 10, 20], ["0.5", "1", "2", "5", "10", "20"])
        axes.minorticks_off()
        axes.axvline(1, color=theme.faint_ink, linewidth=0.9, zorder=1)
    if name == "relearn":
        axes.set_xlim(*CLOSED_ENDS)
    limit = {"relearn": 100 * CLOSED, "damage": None}.get(name, ALLOWED_RATIO)
    if limit is not None:
        axes.axvline(limit, color=theme.start, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
    if name == "damage":
        axes.set_xlim(*DAMAGE_ENDS)
        axes.axvline(0, color=theme.faint_ink, linewidth=0.9, zorder=1)
    estimates = [_estimate(name, method) for method in methods]
    for place, (method, estimate) in enumerate(zip(methods, estimates, strict=True)):
        if estimate is not None:
            _mark(axes, name, place, estimate, method, theme)
    if not any(estimates):
        axes.text(
            0.5, 0.5, "tells nothing here",
            transform=axes.transAxes, fontsize=8, color=theme.faint_ink,
            backgroundcolor=theme.paper, ha="center", va="center",
        )  # fmt: skip


def _mark(axes: Axes, name: str, place: int, estimate: Estimate, method: MethodSummary, theme: Theme) -> None:
    reference = method.method in (ORIGINAL, HEAD_MASK, GOLD2)
    colour = theme.before if reference else theme.parallel if method.verdict.forgotten else theme.affected
    low, value, high = estimate.low, estimate.value, estimate.high
    ends = {"relearn": CLOSED_ENDS, "damage": DAMAGE_ENDS}.get(name, (LOWEST, HIGHEST))
    low, value, high = (min(max(each, ends[0]), ends[1]) for each in (low, value, high))
    axes.hlines(place, low, high, color=colour, linewidth=1.3, zorder=2)
    forgotten = "D" if method.verdict.exact else "o" if method.verdict.forgotten else "^"
    shape = "s" if reference else forgotten
    axes.plot([value], [place], shape, color=colour, markersize=5, zorder=3, clip_on=False)


def _estimate(name: str, method: MethodSummary) -> Estimate | None:
    if name == "relearn":
        for criterion in method.verdict.forgetting:
            if criterion.name == "relearn closed":
                return Estimate(100 * criterion.value, 100 * criterion.low, 100 * criterion.high)
        return None
    figures = method.figures.get(name)
    if figures is None:
        return None
    if name == "damage":
        mean = figures.mean
        return Estimate(-100 * mean.value, -100 * mean.high, -100 * mean.low)
    return figures.times_floor
