# SPDX-License-Identifier: Apache-2.0
"""Accuracy on the forgotten and the retained classes, before and after, of every affected model."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from blockful_py.report.plots.canvas import Theme, clear_frame, figure, png
from blockful_py.report.schema import ModelEntry, Report
from blockful_py.report.summary import is_of_classes
from blockful_py.types import Paradigm

MODEL, NARROW_MODEL = 0.62, 0.4  # inches a model, with at most and with more than MANY_MODELS
MANY_MODELS = 20
MARGIN = 0.7  # inches, left and right together
DODGE = 0.115  # inches between the markers of a model
MARKER = 6.5  # points


def draw_accuracy(report: Report, theme: Theme) -> bytes:
    """PNG with AD_f above AD_r; models by depth, then in the order of publication."""
    models = sorted((m for m in report.models if m.affected or m.start), key=lambda m: m.depth or 0)
    many = len(models) > MANY_MODELS
    width = max(len(models) * (NARROW_MODEL if many else MODEL) + MARGIN, 7.2)
    step = (width - MARGIN) / max(len(models), 1)  # inches a model
    with figure(width, 5.6, theme) as drawn:
        above, below = drawn.subplots(2, 1, sharex=True)
        _panel(above, models, "ad_f", step, theme)
        _panel(below, models, "ad_r", step, theme)
        above.set_title(
            "AD_f: accuracy on the forgotten classes, held-out data (%), lower forgets more"
            if is_of_classes(report)
            else "AD_f: accuracy on samples like those forgotten, held-out data (%)",
            loc="left",
            fontsize=9.5,
            color=theme.ink,
        )
        below.set_title(
            "AD_r: accuracy on the retained classes, held-out data (%), higher is better",
            loc="left",
            fontsize=9.5,
            color=theme.ink,
        )
        _name_models(below, models, rotate=many or any(len(m.name) > 4 for m in models))
        handles, labels = above.get_legend_handles_labels()
        drawn.legend(handles, labels, loc="upper left", ncol=3, fontsize=9, markerscale=1.15)
        drawn.subplots_adjust(
            left=0.5 / width, right=1 - 0.2 / width, top=0.88, bottom=0.14 if many else 0.12, hspace=0.22
        )
        return png(drawn)


def _panel(axes: Axes, models: Sequence[ModelEntry], figure_name: str, step: float, theme: Theme) -> None:
    series = [
        ("before", "o", theme.before, [getattr(m.before, figure_name) for m in models]),
        ("after parallel", "^", theme.parallel, _after(models, Paradigm.PARALLEL, figure_name)),
        ("after sequential", "s", theme.sequential, _after(models, Paradigm.SEQUENTIAL, figure_name)),
    ]
    depths = [model.depth or 0 for model in models]
    for place in range(1, len(models)):
        if depths[place] != depths[place - 1]:
            axes.axvline(place - 0.5, color=theme.line, linewidth=1.0, zorder=0)
    for place in range(len(models)):
        known = [values[place] for _, _, _, values in series if values[place] is not None]
        if known:
            band = 2 * DODGE * 72 + 0.8 * MARKER
            axes.vlines(place, min(known), max(known), color=theme.untouched, linewidth=band, zorder=1)
    for number, (label, shape, colour, values) in enumerate(series):
        shown = [(place, value) for place, value in enumerate(values) if value is not None]
        axes.plot(
            [place + (number - 1) * DODGE / step for place, _ in shown],
            [value for _, value in shown],
            linestyle="none",
            marker=shape,
            markersize=MARKER,
            color=colour,
            label=label,
            clip_on=False,
            zorder=3 + number,
        )
    axes.set_ylim(-2, 102)
    axes.set_yticks([0, 25, 50, 75, 100])
    axes.set_xlim(-0.6, len(models) - 0.4)
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    clear_frame(axes)


def _after(models: Sequence[ModelEntry], paradigm: Paradigm, figure_name: str) -> list[float | None]:
    outcomes = [model.after(paradigm) for model in models]
    return [None if outcome is None else getattr(outcome, figure_name) for outcome in outcomes]


def _name_models(axes: Axes, models: Sequence[ModelEntry], rotate: bool) -> None:
    axes.set_xticks(range(len(models)), [m.name for m in models], rotation=90 if rotate else 0)
    for label, model in zip(axes.get_xticklabels(), models, strict=True):
        label.set_fontweight("bold" if model.start else "normal")
    depths = [model.depth or 0 for model in models]
    for depth in sorted(set(depths)):
        inside = [place for place, value in enumerate(depths) if value == depth]
        axes.annotate(
            "starts" if depth == 0 else f"depth {depth}",
            ((inside[0] + inside[-1]) / 2, 0),
            xycoords=("data", "axes fraction"),
            xytext=(0, -34 if rotate else -26),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=8,
            fontstyle="italic",
        )
