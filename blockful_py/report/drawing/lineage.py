# SPDX-License-Identifier: Apache-2.0
"""The inheritance graph: one column per length of the longest chain of references, oldest on the left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from blockful_py.graph.layout import Point2D, layered_drawing
from blockful_py.report.drawing.passages import passage
from blockful_py.report.measures import Role, left, ran, role_of
from blockful_py.report.schema import ModelEntry, Report

LAYER, WIDE, ROW = 132.0, 172.0, 68.0
"""Distances between layers (for figures without and with two decimals) and between rows.

They leave room for the text below a model, where edges are level.
"""
SIDE, TOP, BOTTOM = 52.0, 28.0, 44.0
RADIUS = 17.0
SHORT, MOST = 4, 11
"""Maximum letters of a name that fit into a node, and that are drawn at all."""


@dataclass(frozen=True, slots=True)
class DrawnModel:
    """A drawn model.

    Attributes:
        number: its index in the report.
        label: its name, possibly shortened; `inside`: whether it fits into the node.
        got: the figure before and after, in short; "" for an untouched model.
    """

    model: ModelEntry
    number: int
    x: float
    y: float
    role: Role
    label: str
    inside: bool
    got: str
    tip: str


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge from a reference to an heir, by their indices in the report.

    `carries` tells whether it passes the forgetting on.
    """

    reference: int
    heir: int
    carries: bool
    path: str


@dataclass(frozen=True, slots=True)
class Lineage:
    width: float
    height: float
    nodes: tuple[DrawnModel, ...]
    edges: tuple[Edge, ...]
    roles: tuple[tuple[Role, int], ...]


def lineage(report: Report) -> Lineage:
    """The drawing, in CSS pixels; equal reports give equal drawings."""
    drawing = layered_drawing({model.name: model.references for model in report.models})
    number = {model.name: place for place, model in enumerate(report.models)}
    roles = {model.name: role_of(model) for model in report.models}
    points = [*drawing.places.values(), *(point for route in drawing.routes.values() for point in route)]
    layer = LAYER if left(report).most == 100 else WIDE

    def scaled(place: Point2D) -> Point2D:
        return round(SIDE + place[0] * layer, 1), round(TOP + place[1] * ROW, 1)

    nodes = []
    for model in report.models:
        x, y = scaled(drawing.places[model.name])
        inside = len(model.name) <= SHORT
        label = model.name if len(model.name) <= MOST else model.name[: MOST - 1] + "…"
        got, tip = _got(report, model), _tip(report, model)
        nodes.append(DrawnModel(model, number[model.name], x, y, roles[model.name], label, inside, got, tip))
    edges = [
        Edge(
            number[reference],
            number[heir],
            Role.UNTOUCHED not in (roles[reference], roles[heir]),
            _path([scaled(point) for point in curve]),
        )
        for (reference, heir), curve in sorted(drawing.curves.items())
    ]
    return Lineage(
        2 * SIDE + layer * max((at for at, _ in points), default=0),
        round(TOP + BOTTOM + ROW * max((row for _, row in points), default=0), 1),
        tuple(nodes),
        tuple(sorted(edges, key=lambda edge: edge.carries)),
        tuple((role, count) for role in Role if (count := list(roles.values()).count(role))),
    )


def _got(report: Report, model: ModelEntry) -> str:
    """The figure before, and after each paradigm."""
    if role_of(model) is Role.UNTOUCHED or not ran(report):
        return ""
    measure = left(report)
    digits = 0 if measure.most == 100 else 2
    values = ["–" if value is None else f"{value:.{digits}f}" for _, value in passage(report, model, measure)]
    return f"{values[0]} → {' · '.join(values[1:])}"


def _tip(report: Report, model: ModelEntry) -> str:
    role = role_of(model)
    lines = [f"{model.name}, user {model.user}: {role}" + (f", depth {model.depth}" if model.depth else "")]
    if role is Role.UNTOUCHED:
        return "\n".join([*lines, "does not descend from a start, and is unchanged"])
    measure = left(report)
    lines += [f"{measure.name} {state}: {measure.written(v)}" for state, v in passage(report, model, measure)]
    return "\n".join(lines)


def _path(curve: Sequence[Point2D]) -> str:
    """SVG path of cubic Bézier curves."""
    (x, y), *points = curve
    return f"M{x:g},{y:g}C" + " ".join(f"{x:g},{y:g}" for x, y in points)
