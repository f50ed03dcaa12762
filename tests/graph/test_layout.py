# SPDX-License-Identifier: Apache-2.0
"""A drawing keeps references left of inheritors and models apart, for every graph."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockful_py.errors import CycleError, UnknownModelError
from blockful_py.graph.layout import LEVEL, layered_drawing
from tests.report.made_up import organic_references, paper_references


def random_graph(size: int, references: int, window: int, seed: int) -> dict[str, list[str]]:
    rng = np.random.default_rng(seed)
    graph: dict[str, list[str]] = {}
    for i in range(size):
        near = list(graph)[-window:]
        chosen = rng.choice(len(near), size=min(references, len(near)), replace=False) if near else []
        graph[f"r{i + 1}"] = [near[c] for c in chosen]
    return graph


@settings(max_examples=60)
@given(st.integers(1, 40), st.integers(0, 4), st.integers(1, 12), st.integers(0, 1000))
def test_layers_are_longest_paths_and_rows_are_apart(
    size: int, references: int, window: int, seed: int
) -> None:
    graph = random_graph(size, references, window, seed)
    places = layered_drawing(graph).places
    for name, parents in graph.items():
        assert places[name][0] == max((places[parent][0] + 1 for parent in parents), default=0)
    for layer in {layer for layer, _ in places.values()}:
        rows = sorted(row for at, row in places.values() if at == layer)
        assert all(below - above >= 1 - 1e-9 for above, below in pairwise(rows))


def test_routes_join_the_two_ends_layer_by_layer_and_avoid_the_models_between() -> None:
    graph = random_graph(40, 2, 9, 3)
    drawing = layered_drawing(graph)
    assert set(drawing.routes) == {
        (reference, name) for name, references in graph.items() for reference in references
    }
    for (reference, name), route in drawing.routes.items():
        assert route[0] == drawing.places[reference]
        assert route[-1] == drawing.places[name]
        assert all(after[0] - before[0] == 1 for before, after in pairwise(route))
        for layer, row in route[1:-1]:
            rows = [at_row for at_layer, at_row in drawing.places.values() if at_layer == layer]
            assert all(abs(row - other) >= 0.5 for other in rows)


@settings(max_examples=40)
@given(st.integers(2, 60), st.integers(1, 4), st.integers(2, 12), st.integers(0, 1000))
def test_edges_keep_off_models_and_what_is_written_below_and_above(
    size: int, references: int, window: int, seed: int
) -> None:
    drawing = layered_drawing(random_graph(size, references, window, seed))
    for (reference, name), curve in drawing.curves.items():
        assert (curve[0], curve[-1]) == (drawing.places[reference], drawing.places[name])
        x, y = bezier(curve).T
        for model, (layer, row) in drawing.places.items():
            beside = np.abs(y[np.abs(x - layer) < LEVEL - 1e-9] - row)
            own = model in (reference, name)
            assert (beside < 1e-9).all() if own else (beside > 0.7).all()


def bezier(curve: Sequence[tuple[float, float]]) -> np.ndarray[Any, Any]:
    """Points on cubic Bézier curves, 25 each."""
    points = np.array(curve)
    t = np.linspace(0, 1, 25)[:, None]
    parts = []
    for at in range(0, len(points) - 1, 3):
        a, b, c, d = points[at : at + 4]
        parts.append((1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t**2 * c + t**3 * d)
    return np.concatenate(parts)


@pytest.mark.parametrize(
    ("graph", "most"),
    [(paper_references(), 4), (organic_references(20), 15), (organic_references(60), 83)],
    ids=["paper", "organic 20", "organic 60"],
)
def test_few_edges_of_small_graphs_cross(graph: dict[str, tuple[str, ...]], most: int) -> None:
    """Exchanges leave at most `most` crossings; barycentres alone left 5, 22 and 96."""
    routes = layered_drawing(graph).routes.values()
    steps = [step for route in routes for step in pairwise(route)]
    crossings = sum(
        (one[0][1] - other[0][1]) * (one[1][1] - other[1][1]) < 0
        for one, other in combinations(steps, 2)
        if one[0][0] == other[0][0]
    )
    assert crossings <= most


def test_the_same_graph_is_drawn_the_same() -> None:
    assert layered_drawing(random_graph(30, 2, 7, 1)) == layered_drawing(random_graph(30, 2, 7, 1))


def test_a_tree_is_drawn_without_crossings() -> None:
    tree = {"a": [], "f": ["c"], "e": ["b"], "c": ["a"], "d": ["b"], "b": ["a"], "g": ["c"]}
    places = layered_drawing(tree).places
    (b, c), (d, e, f, g) = (places[n][1] for n in "bc"), (places[n][1] for n in "defg")
    assert (b < c) == (max(d, e) < min(f, g))
    assert places["a"][1] == pytest.approx((b + c) / 2, abs=0.3)


def test_a_reference_listed_twice_is_one_edge_and_lone_models_have_places() -> None:
    drawing = layered_drawing({"a": [], "b": ["a", "a"], "lone": []})
    assert list(drawing.routes) == [("a", "b")]
    assert drawing.places["lone"][0] == 0
    assert layered_drawing({}).places == {}


def test_a_cycle_is_named_in_order() -> None:
    with pytest.raises(CycleError) as caught:
        layered_drawing({"root": [], "a": ["root", "c"], "b": ["a"], "c": ["b"], "after": ["c"]})
    cycle = caught.value.models
    start = cycle.index("a")
    assert cycle[start:] + cycle[:start] == ("a", "b", "c")


def test_an_unknown_reference_is_named() -> None:
    with pytest.raises(UnknownModelError, match="'ghost'"):
        layered_drawing({"a": ["ghost"]})


def test_thousands_of_models_take_seconds_of_a_core() -> None:
    graph = random_graph(3000, 3, 400, 0)
    began = time.process_time()
    layered_drawing(graph)
    assert time.process_time() - began < 20
