# SPDX-License-Identifier: Apache-2.0
"""The inheritance graph: a column for each length of the longest chain of references, oldest left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from blockful_py.graph.layout import Place, layered_drawing
from blockful_py.report.drawing.passages import passage
from blockful_py.report.measures import left, ran
from blockful_py.report.roles import Role, role_of
from blockful_py.report.schema import ModelEntry, Report

LAYER, ROW = 116.0, 68.0
SIDE, TOP, BOTTOM = 52.0, 28.0, 44.0
RADIUS = 17.0
SHORT, MOST = 4, 14
"""Letters of a name that fit into a node, and that are drawn at all."""


@dataclass(frozen=True, slots=True)
class DrawnModel:
    """A model.

    Attributes:
        number: its place in the report.
        label: its name, shortened where it is long; `inside`: whether it fits into the node.
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
    """From a reference to an heir, by their places in the report; `carries` the forgetting on."""

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
    """The drawing, in CSS pixels; the same for the same report."""
    drawing = layered_drawing({model.name: model.references for model in report.models})
    number = {model.name: place for place, model in enumerate(report.models)}
    roles = {model.name: role_of(model) for model in report.models}
    points = [*drawing.places.values(), *(point for route in drawing.routes.values() for point in route)]
    nodes = []
    for model in report.models:
        x, y = _scaled(drawing.places[model.name])
        inside = len(model.name) <= SHORT
        label = model.name if len(model.name) <= MOST else model.name[: MOST - 1] + "…"
        got, tip = _got(report, model), _tip(report, model)
        nodes.append(DrawnModel(model, number[model.name], x, y, roles[model.name], label, inside, got, tip))
    edges = [
        Edge(
            number[reference],
            number[heir],
            Role.UNTOUCHED not in (roles[reference], roles[heir]),
            _curve([_scaled(point) for point in route]),
        )
        for (reference, heir), route in sorted(drawing.routes.items())
    ]
    return Lineage(
        2 * SIDE + LAYER * max((layer for layer, _ in points), default=0),
        round(TOP + BOTTOM + ROW * max((row for _, row in points), default=0), 1),
        tuple(nodes),
        tuple(sorted(edges, key=lambda edge: edge.carries)),
        tuple((role, count) for role in Role if (count := list(roles.values()).count(role))),
    )


def _scaled(place: Place) -> Place:
    layer, row = place
    return round(SIDE + layer * LAYER, 1), round(TOP + row * ROW, 1)


def _got(report: Report, model: ModelEntry) -> str:
    """Before, after each paradigm."""
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
        return "\n".join([*lines, "does not descend from a start, and is as before"])
    measure = left(report)
    lines += [f"{measure.name} {state}: {measure.written(v)}" for state, v in passage(report, model, measure)]
    return "\n".join(lines)


def _curve(route: Sequence[Place]) -> str:
    """Monotone cubic through the route (Fritsch and Butland, 1984), level at both ends: no overshoot."""
    steps = [(y1 - y0) / (x1 - x0) for (x0, y0), (x1, y1) in pairwise(route)]
    inner = [2 * a * b / (a + b) if a * b > 0 else 0.0 for a, b in pairwise(steps)]
    slopes = [0.0, *inner, 0.0]
    path = [f"M{route[0][0]:g},{route[0][1]:g}"]
    for ((x0, y0), (x1, y1)), (m0, m1) in zip(pairwise(route), pairwise(slopes), strict=True):
        reach = (x1 - x0) / 3 if len(route) > 2 else (x1 - x0) / 2
        points = ((x0 + reach, y0 + reach * m0), (x1 - reach, y1 - reach * m1), (x1, y1))
        path.append("C" + " ".join(f"{round(x, 1):g},{round(y, 1):g}" for x, y in points))
    return "".join(path)
