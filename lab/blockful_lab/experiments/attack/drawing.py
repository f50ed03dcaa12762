# SPDX-License-Identifier: Apache-2.0
"""The attack on the mean of all affected models, method by method."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes

from blockful_lab.experiments.attack.shadows import ALL
from blockful_lab.experiments.panels import in_rows, panel, words
from blockful_py.report.plots.canvas import Theme, figure, png
from blockful_py.verdicts.references import REFERENCES

ROW, TITLE = 0.19, 0.75  # inches a method, and around each target
LEFT, WIDTH = 1.75, 13.0  # inches

LEGEND = (
    "Models that unlearned against models that never knew; grey line: what guesses reach. "
    "Lines: 95 % intervals over the shadow federations. Squares: references; circles: methods."
)


Interval = tuple[float, float, float]
"""A value, then the ends of its interval."""

Reader = Callable[[Mapping[str, Any]], Interval | None]
"""A figure of a method of the document; None where it has none."""


@dataclass(frozen=True, slots=True)
class AttackPanel:
    """One figure of all methods.

    Attributes:
        guess: what guesses reach.
        ends: of the axis; what lies beyond is drawn at the end.
        ticks: values that are named.
    """

    label: str
    read: Reader
    guess: float
    ends: tuple[float, float]
    ticks: tuple[float, ...]


def _of(part: str, name: str | None = None) -> Reader:
    def read(method: Mapping[str, Any]) -> Interval | None:
        told = method[part] if name is None else method[part][name]
        return None if told is None else (told["value"], told["low"], told["high"])

    return read


def _epsilon(method: Mapping[str, Any]) -> Interval:
    told = method["attack"]["epsilon"]
    return told["low"], told["low"], math.inf if told["high"] == "inf" else told["high"]


PANELS = (
    AttackPanel("AUC", _of("attack", "auc"), 0.5, (0.4, 1.0), (0.5, 0.75)),
    AttackPanel("TPR at 1 % FPR", _of("attack", "tpr"), 0.01, (0.0, 1.0), (0.25, 0.5, 0.75)),
    AttackPanel("epsilon, at least", _epsilon, 0.0, (0.0, 2.0), (0.5, 1.0, 1.5)),
    AttackPanel("KLoM less gold2's, nats", _of("klom_above"), 0.0, (-1.0, 11.0), (0, 5, 10)),
    AttackPanel("recognised less gold's", _of("recognised_above"), 0.0, (-1.0, 1.0), (-0.5, 0, 0.5)),
    AttackPanel("perturbed, less gold's", _of("near_above"), 0.0, (-1.0, 1.0), (-0.5, 0, 0.5)),
    AttackPanel("membership less gold's", _of("membership_above"), 0.0, (-0.3, 0.6), (0, 0.25, 0.5)),
)


def heading(view: Mapping[str, Any]) -> str:
    """For example `forgotten: all affected`."""
    return f"{view['target']}: {view['view']}"


def draw(document: Mapping[str, Any], theme: Theme) -> bytes:
    """PNG with a row of panels for each scenario and target."""
    shown = [
        (scenario, view)
        for scenario in document["scenarios"]
        for view in scenario["views"]
        if view["view"] == ALL
    ]
    heights = [len(view["methods"]) * ROW + TITLE for _, view in shown]
    total = sum(heights) + 0.45
    span = (WIDTH - LEFT - 0.15) / len(PANELS)
    with figure(WIDTH, total, theme) as drawn:
        top = total - 0.75
        for (scenario, view), height in zip(shown, heights, strict=True):
            methods = view["methods"]
            for number, each in enumerate(PANELS):
                axes = panel(drawn, LEFT + number * span, top, span - 0.15, len(methods) * ROW)
                _panel(axes, each, methods, theme)
                in_rows(axes, len(methods), None if number else [method["method"] for method in methods])
                axes.set_xlabel(each.label, fontsize=8)
            title = f"{scenario['title']}; {view['target']}"
            title += f" (n = {view['examples']} samples, {scenario['shadows']} federations)"
            words(drawn, 0.15, top + 0.12, title, 9.5, theme.ink)
            top -= height
        words(drawn, 0.15, total - 0.16, LEGEND, 9, theme.faint_ink)
        return png(drawn)


def _panel(axes: Axes, each: AttackPanel, methods: list[Mapping[str, Any]], theme: Theme) -> None:
    axes.set_xlim(*each.ends)
    axes.set_xticks(each.ticks, [f"{tick:g}" for tick in each.ticks])
    axes.axvline(each.guess, color=theme.faint_ink, linewidth=0.9, zorder=1)
    for place, method in enumerate(methods):
        estimate = each.read(method)
        if estimate is None:
            continue
        value, low, high = (min(max(one, each.ends[0]), each.ends[1]) for one in estimate)
        reference = method["method"] in REFERENCES
        colour, shape = (theme.before, "s") if reference else (theme.affected, "o")
        axes.hlines(place, low, high, color=colour, linewidth=1.3, zorder=2)
        axes.plot([value], [place], shape, color=colour, markersize=5, zorder=3, clip_on=False)
