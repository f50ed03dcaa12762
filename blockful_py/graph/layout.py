# SPDX-License-Identifier: Apache-2.0
"""Layout of an inheritance graph: positions of the models, and edges that avoid them.

Layered drawing after Sugiyama, Tagawa and Toda (1981).  A model's layer is its longest chain of references.
An edge over several layers gets one bend point per layer.  The order within a layer follows the barycentres
of the neighbours; in small graphs, adjacent pairs are also exchanged while that reduces crossings (Gansner,
Koutsofios, North and Vo, 1993).  Coordinates minimise the squared length of the edges under a fixed
separation (isotonic regression, pool adjacent violators).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from blockful_py.errors import CycleError, UnknownModelError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Point2D = tuple[float, float]

ORDER_SWEEPS = 16
PLACE_SWEEPS = 24
NODE_SEPARATION = 1.0
BEND_SEPARATION = 0.6
QUICK_SWEEPS = 6
EXCHANGED = 600
"""Maximum number of models and bend points for exchanging adjacent pairs."""
EXCHANGE_SWEEPS = 8
LEVEL = 0.3
"""Length, in layers, of the level part of an edge beside models and bend points, which keeps it off labels.
"""
BENDS_PER_ELEMENT = 8  # bend points shared by all long edges, per node and edge; further edges run straight


@dataclass(frozen=True, slots=True)
class Drawing:
    """Coordinates of an inheritance graph.

    Attributes:
        places: (layer, row) of each model; layers count from 0, rows of one layer are at least 1 apart.
        routes: bend points of each edge (reference, inheritor), both ends included.
    """

    places: dict[str, Point2D]
    routes: dict[tuple[str, str], tuple[Point2D, ...]]

    @property
    def curves(self) -> dict[tuple[str, str], tuple[Point2D, ...]]:
        """Each edge as cubic Bézier curves: its start, then two control points and an end per curve."""
        return {edge: _curve(route) for edge, route in self.routes.items()}


def _curve(route: Sequence[Point2D]) -> tuple[Point2D, ...]:
    """Curve through a route: level at each point, and S-shaped between points of different rows."""
    points = [route[0]]
    for (start, above), (end, below) in pairwise(route):
        leaves, comes = (start + LEVEL, above), (end - LEVEL, below)
        middle = (start + end) / 2
        if above != below:
            points += [(start, above), leaves, leaves, (middle, above), (middle, below), comes]
        points += [comes, (end, below), (end, below)]
    return tuple(points)


class _Neighbours:
    """Lists of neighbours, concatenated in the order of the nodes."""

    def __init__(self, nodes: int, of: Ints, neighbour: Ints) -> None:
        self._flat = neighbour[np.argsort(of, kind="stable")]
        self._count = np.bincount(of, minlength=nodes)
        self._first = np.cumsum(self._count) - self._count

    def of(self, nodes: Ints) -> Ints:
        """Neighbours of all these nodes, node by node."""
        count = self._count[nodes]
        shift = np.repeat(self._first[nodes] - np.cumsum(count) + count, count)
        return self._flat[shift + np.arange(len(shift))]

    def means(self, nodes: Ints, values: Floats) -> Floats:
        """Mean value of each node's neighbours; a node without neighbours keeps its own value."""
        count = self._count[nodes]
        segment = np.repeat(np.arange(len(nodes)), count)
        total = np.bincount(segment, weights=values[self.of(nodes)], minlength=len(nodes))
        return np.where(count > 0, total / np.maximum(count, 1), values[nodes])


def quick_layout(names: Sequence[str], sources: Ints, targets: Ints) -> Floats:
    """Places (layer, row) of the models, shape (models, 2), for graphs of 100,000 models.

    `sources` and `targets` are the rows of each edge's two ends.  Like `layered_drawing`, but with straight
    edges: the models of a layer follow the barycentres of their neighbours and are evenly spaced around row
    0.  O(V + E) per sweep. Raises CycleError if the references form a cycle.
    """
    layers = _longest_path_layers(names, sources, targets)
    above = _Neighbours(len(names), targets, sources)
    below = _Neighbours(len(names), sources, targets)
    order = np.split(np.argsort(layers, kind="stable"), np.cumsum(np.bincount(layers))[:-1])
    rows = np.zeros(len(names))

    def settle(members: Ints) -> None:
        rows[members] = np.arange(len(members)) - (len(members) - 1) / 2

    for members in order:
        settle(members)
    for sweep in range(QUICK_SWEEPS):
        down = sweep % 2 == 0
        for layer in range(len(order)) if down else reversed(range(len(order))):
            centre = (above if down else below).means(order[layer], rows)
            order[layer] = order[layer][np.argsort(centre, kind="stable")]
            settle(order[layer])
    return np.column_stack([layers.astype(float), rows]) if names else np.zeros((0, 2))


def layered_drawing(references: Mapping[str, Sequence[str]]) -> Drawing:
    """Places of the models and routes of the edges, deterministic; O(V + E) per sweep.

    Raises:
        CycleError: the references form a cycle.
        UnknownModelError: a reference is not a model.
    """
    names = tuple(references)
    sources, targets = _edges(names, references)
    layers = _longest_path_layers(names, sources, targets)
    chains, bend_of, all_layers = _bend(len(names), sources, targets, layers)
    heads = np.array([a for chain in chains for a in chain[:-1]], dtype=np.int64)
    tails = np.array([b for chain in chains for b in chain[1:]], dtype=np.int64)
    above = _Neighbours(len(all_layers), tails, heads)
    below = _Neighbours(len(all_layers), heads, tails)
    order = _order(all_layers, heads, tails, above, below)
    both = _Neighbours(len(all_layers), np.append(heads, tails), np.append(tails, heads))
    rows = _rows(order, bend_of < 0, both)

    def place(node: int) -> Point2D:
        return float(all_layers[node]), float(rows[node])

    places = {name: place(node) for node, name in enumerate(names)}
    routes = {(names[chain[0]], names[chain[-1]]): tuple(map(place, chain)) for chain in chains}
    return Drawing(places, routes)


def _edges(names: Sequence[str], references: Mapping[str, Sequence[str]]) -> tuple[Ints, Ints]:
    number = {name: node for node, name in enumerate(names)}
    pairs = set()
    for name in names:
        for reference in references[name]:
            if reference not in number:
                raise UnknownModelError(reference, names)
            pairs.add((number[reference], number[name]))
    edges = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    return edges[:, 0], edges[:, 1]


def _longest_path_layers(names: Sequence[str], sources: Ints, targets: Ints) -> Ints:
    """Layer of each node: 0 without references, else one more than its highest reference."""
    waiting = np.bincount(targets, minlength=len(names))
    inheritors = _Neighbours(len(names), sources, targets)
    layers = np.zeros(len(names), dtype=np.int64)
    wave = np.flatnonzero(waiting == 0)
    placed = 0
    while wave.size:
        placed += wave.size
        reached = inheritors.of(wave)
        layers[reached] = layers[wave[0]] + 1
        np.subtract.at(waiting, reached, 1)
        candidates = np.unique(reached)
        wave = candidates[waiting[candidates] == 0]
    if placed < len(names):
        raise CycleError(_a_cycle(names, sources, targets, waiting))
    return layers


def _a_cycle(names: Sequence[str], sources: Ints, targets: Ints, waiting: Ints) -> list[str]:
    """A cycle among the waiting nodes, each of which has a reference that waits too."""
    reference_of = {
        int(target): int(source) for source, target in zip(sources, targets, strict=True) if waiting[source]
    }
    node = int(np.flatnonzero(waiting)[0])
    walked: dict[int, int] = {}
    while node not in walked:
        walked[node] = len(walked)
        node = reference_of[node]
    return [names[seen] for seen, step in walked.items() if step >= walked[node]][::-1]


def _bend(nodes: int, sources: Ints, targets: Ints, layers: Ints) -> tuple[list[list[int]], Ints, Ints]:
    """Chains of nodes and bend points per edge, the edge of each bend point (-1: a node), and all layers."""
    spans = layers[targets] - layers[sources]
    shortest_first = np.argsort(spans, kind="stable")
    budget = BENDS_PER_ELEMENT * (nodes + len(sources))
    bent = np.zeros(len(sources), dtype=bool)
    bent[shortest_first[np.cumsum(spans[shortest_first] - 1) <= budget]] = True
    all_layers, bend_of, chains = layers.tolist(), [-1] * nodes, []
    for edge, (source, target) in enumerate(zip(sources.tolist(), targets.tolist(), strict=True)):
        chain = [source]
        for layer in range(layers[source] + 1, layers[target]) if bent[edge] else ():
            chain.append(len(all_layers))
            all_layers.append(layer)
            bend_of.append(edge)
        chains.append([*chain, target])
    return chains, np.array(bend_of, dtype=np.int64), np.array(all_layers, dtype=np.int64)


def _order(layers: Ints, heads: Ints, tails: Ints, above: _Neighbours, below: _Neighbours) -> list[Ints]:
    """Nodes of each layer from top to bottom, in the order with the fewest crossings of all sweeps."""
    count = int(layers.max(initial=-1)) + 1
    order = [np.flatnonzero(layers == layer) for layer in range(count)]
    rank = np.zeros(len(layers))

    def rerank(members: Ints) -> None:
        rank[members] = (np.arange(len(members)) + 0.5) / len(members)

    for members in order:
        rerank(members)
    ends = _ends(heads, tails, len(layers)) if len(layers) <= EXCHANGED else None
    best, fewest = list(order), _crossings(rank, layers, heads, tails)
    for sweep in range(ORDER_SWEEPS):
        down = sweep % 2 == 0
        for layer in range(count) if down else reversed(range(count)):
            centre = (above if down else below).means(order[layer], rank)
            order[layer] = order[layer][np.argsort(centre, kind="stable")]
            rerank(order[layer])
        if ends is not None:
            order = _exchanged(order, rank, ends)
            for members in order:
                rerank(members)
        crossings = _crossings(rank, layers, heads, tails)
        if crossings < fewest:
            best, fewest = list(order), crossings
    return best


Ends = tuple[list[list[int]], list[list[int]]]
"""Neighbours of each node in the layer above, and in the layer below."""


def _ends(heads: Ints, tails: Ints, nodes: int) -> Ends:
    above: list[list[int]] = [[] for _ in range(nodes)]
    below: list[list[int]] = [[] for _ in range(nodes)]
    for head, tail in zip(heads.tolist(), tails.tolist(), strict=True):
        below[head].append(tail)
        above[tail].append(head)
    return above, below


def _exchanged(order: Sequence[Ints], rank: Floats, ends: Ends) -> list[Ints]:
    """Exchanges adjacent nodes as long as that reduces crossings; returns the new order."""
    ranks, lists = rank.tolist(), [members.tolist() for members in order]

    def crossing(first: int, second: int) -> int:
        """Crossings between the edges of two nodes of a layer, if the first is above the second."""
        total = 0
        for neighbours in ends:
            seconds = sorted(ranks[node] for node in neighbours[second])
            total += sum(bisect_left(seconds, ranks[node]) for node in neighbours[first])
        return total

    for _ in range(EXCHANGE_SWEEPS):
        is_better = False
        for members in lists:
            for at in range(len(members) - 1):
                first, second = members[at : at + 2]
                if crossing(second, first) < crossing(first, second):
                    members[at : at + 2] = second, first
                    ranks[first], ranks[second] = ranks[second], ranks[first]
                    is_better = True
        if not is_better:
            break
    return [np.array(members, dtype=np.int64) for members in lists]


def _crossings(rank: Floats, layers: Ints, heads: Ints, tails: Ints) -> int:
    """Crossings between segments of adjacent layers, counted as inversions, O(E log E)."""
    adjacent = layers[tails] - layers[heads] == 1
    heads, tails = heads[adjacent], tails[adjacent]
    by_head = np.lexsort((rank[tails], rank[heads], layers[heads]))
    total, current, seen = 0, -1, list[float]()
    for layer, end in zip(layers[heads][by_head].tolist(), rank[tails][by_head].tolist(), strict=True):
        if layer != current:
            current, seen = layer, []
        total += len(seen) - bisect_right(seen, end)
        insort(seen, end)
    return total


def _rows(order: Sequence[Ints], is_model: NDArray[np.bool_], neighbours: _Neighbours) -> Floats:
    """Row of each node: sweeps move nodes to the mean of their neighbours, keeping order and separation."""
    rows = np.zeros(len(is_model))
    size = np.where(is_model, NODE_SEPARATION, BEND_SEPARATION)
    weight = np.where(is_model, 1.0, 3.0)
    slots = [np.cumsum((size[members] + np.roll(size[members], 1)) / 2) for members in order]
    for members, slot in zip(order, slots, strict=True):
        rows[members] = slot - slot.mean()
    for sweep in range(PLACE_SWEEPS):
        down = sweep % 2 == 0
        for layer in range(len(order)) if down else reversed(range(len(order))):
            members, slot = order[layer], slots[layer]
            wanted = neighbours.means(members, rows)
            rows[members] = _isotonic(wanted - slot, weight[members]) + slot
    return rows - rows.min(initial=np.inf) if rows.size else rows


def _isotonic(wanted: Floats, weight: Floats) -> Floats:
    """Solves argmin sum w (y - wanted)^2 with y nondecreasing, by pooling adjacent violators."""
    blocks: list[tuple[float, float, int]] = []
    for value, mass in zip(wanted.tolist(), weight.tolist(), strict=True):
        mean, total, length = value, mass, 1
        while blocks and blocks[-1][0] > mean:
            earlier, earlier_mass, earlier_length = blocks.pop()
            mean = (earlier * earlier_mass + mean * total) / (earlier_mass + total)
            total, length = total + earlier_mass, length + earlier_length
        blocks.append((mean, total, length))
    return np.repeat([mean for mean, _, _ in blocks], [length for _, _, length in blocks])
