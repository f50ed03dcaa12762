# SPDX-License-Identifier: Apache-2.0
"""The inheritance graph: starts, affected models, and models left alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from blockful_py.graph.layout import Drawing, Place, layered_drawing
from blockful_py.report.plots.canvas import Theme, figure, png
from blockful_py.report.roles import Role, role_of
from blockful_py.report.schema import ModelEntry, Report

NODE = 26.0  # points across
ROW = 0.62  # inches
LAYER, NARROW_LAYER = 1.3, 0.92  # inches, with at most and with more than MANY_LAYERS layers
MANY_LAYERS = 9
TOP, BOTTOM, SIDE = 0.95, 0.42, 0.5  # inches


@dataclass(frozen=True, slots=True)
class _Mark:
    """How a role is drawn: a shape of its own, fill, edge and text colours."""

    shape: str
    fill: str
    edge: str
    text: str
    scale: float = 1.0


def _marks(theme: Theme) -> dict[Role, _Mark]:
    return {
        Role.START: _Mark("s", theme.start, theme.start, theme.on_colour),
        Role.AFFECTED: _Mark("o", theme.affected, theme.affected, theme.on_colour),
        Role.BELOW_EPSILON: _Mark("h", theme.paper, theme.affected, theme.ink, scale=1.12),
        Role.UNTOUCHED: _Mark("o", theme.untouched, theme.line, theme.faint_ink),
    }


def draw_inheritance(report: Report, theme: Theme) -> bytes:
    """PNG of the graph: a column for each length of the longest chain of references, oldest left."""
    drawing = layered_drawing({model.name: model.references for model in report.models})
    layers = int(max((layer for layer, _ in drawing.places.values()), default=0))
    rows = max((row for route in drawing.routes.values() for _, row in route), default=0.0)
    rows = max([rows, *(row for _, row in drawing.places.values())], default=0.0)
    layer_width = LAYER if layers < MANY_LAYERS else NARROW_LAYER
    width = max(layers * layer_width + 2 * SIDE, 7.2)
    height = rows * ROW + TOP + BOTTOM
    with figure(width, height, theme) as drawn:
        axes = drawn.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        margin = (width - layers * layer_width) / 2
        axes.set_xlim(-margin / layer_width, layers + margin / layer_width)
        axes.set_ylim(rows + BOTTOM / ROW, -TOP / ROW)
        marks = _marks(theme)
        _edges(axes, report, drawing, theme)
        for model in report.models:
            _node(axes, model, drawing.places[model.name], marks[role_of(model)], theme)
        _legend(axes, report, marks, theme)
        return png(drawn)


def _edges(axes: Axes, report: Report, drawing: Drawing, theme: Theme) -> None:
    roles = {model.name: role_of(model) for model in report.models}
    for (reference, name), route in sorted(drawing.routes.items()):
        carries = Role.UNTOUCHED not in (roles[reference], roles[name])
        axes.add_patch(
            PathPatch(
                _curve(route),
                fill=False,
                edgecolor=theme.affected if carries else theme.before,
                alpha=0.85 if carries else 0.4,
                linewidth=1.5 if carries else 0.9,
                zorder=2 if carries else 1,
                capstyle="round",
            )
        )


def _curve(route: Sequence[Place]) -> Path:
    """Monotone cubic through the route (Fritsch and Butland, 1984), level at both ends: no overshoot."""
    steps = [(y1 - y0) / (x1 - x0) for (x0, y0), (x1, y1) in pairwise(route)]
    inner = [2 * a * b / (a + b) if a * b > 0 else 0.0 for a, b in pairwise(steps)]
    slopes = [0.0, *inner, 0.0]
    points, codes = [route[0]], [Path.MOVETO]
    for ((x0, y0), (x1, y1)), (m0, m1) in zip(pairwise(route), pairwise(slopes), strict=True):
        reach = (x1 - x0) / 3 if len(route) > 2 else (x1 - x0) / 2
        points += [(x0 + reach, y0 + reach * m0), (x1 - reach, y1 - reach * m1), (x1, y1)]
        codes += [Path.CURVE4] * 3
    return Path(points, codes)


def _node(axes: Axes, model: ModelEntry, place: Place, mark: _Mark, theme: Theme) -> None:
    axes.plot(
        *place,
        marker=mark.shape,
        markersize=NODE * mark.scale,
        markerfacecolor=mark.fill,
        markeredgecolor=mark.edge,
        markeredgewidth=1.4,
        zorder=3,
    )
    inside = len(model.name) <= 4
    axes.annotate(
        model.name,
        place,
        xytext=(0, 0 if inside else -NODE * 0.75),
        textcoords="offset points",
        ha="center",
        va="center",
        color=mark.text if inside else theme.ink,
        fontsize=8,
        fontweight="bold" if model.affected or model.start else "normal",
        zorder=4,
    )
    if model.depth and inside:
        axes.annotate(
            str(model.depth),
            place,
            xytext=(0, -NODE * 0.75),
            textcoords="offset points",
            ha="center",
            va="center",
            color=theme.faint_ink,
            fontsize=7,
            zorder=4,
        )


def _legend(axes: Axes, report: Report, marks: dict[Role, _Mark], theme: Theme) -> None:
    counts = {role: sum(role_of(model) is role for model in report.models) for role in Role}
    handles = [
        Line2D(
            [],
            [],
            linestyle="none",
            marker=marks[role].shape,
            markersize=11 * marks[role].scale,
            markerfacecolor=marks[role].fill,
            markeredgecolor=marks[role].edge,
            label=f"{role} ({counts[role]})",
        )
        for role in Role
        if counts[role]
    ]
    handles.append(Line2D([], [], color=theme.affected, linewidth=1.5, label="passes the forgetting on"))
    steps = Line2D([], [], linestyle="none", marker="$2$", markersize=5, color=theme.faint_ink)
    steps.set_markeredgewidth(0.3)
    steps.set_label("steps from the nearest start")
    handles.append(steps)
    axes.legend(
        handles=handles,
        loc="upper left",
        ncol=3 if len(handles) > 4 else len(handles),
        fontsize=8.5,
        handletextpad=0.5,
        columnspacing=1.8,
        bbox_to_anchor=(0.0, 1.0),
    )
