# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math

import pytest

from blockful_py.errors import GraphError
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.graph.path_weights import depth_bound, path_weights, single_reference_models


@pytest.mark.parametrize(
    ("norm", "epsilon", "bound"),
    [
        (0.5, 1.0, 1),
        (1.0, 1.0, 1),
        (2.0, 1.0, 1),
        (8.0, 1.0, 3),
        (8.1, 1.0, 4),
        (0.8, 0.1, 3),
        (1e308, 1e-308, 2047),
    ],
)
def test_the_bound_is_the_least_depth_that_halves_the_update_to_epsilon(
    norm: float, epsilon: float, bound: int
) -> None:
    assert depth_bound(norm, epsilon) == bound
    assert math.ldexp(epsilon, bound) >= norm
    assert bound == 1 or math.ldexp(epsilon, bound - 1) < norm


def test_models_with_one_reference_put_the_bound_off() -> None:
    assert depth_bound(8.0, 1.0, single_reference_models=2) == 5
    assert depth_bound(0.5, 1.0, single_reference_models=2) == 3


def test_nothing_is_cut_without_epsilon() -> None:
    assert depth_bound(1.0, 0.0) is None


@pytest.mark.parametrize(("norm", "epsilon"), [(-1.0, 1.0), (1.0, -1.0), (math.nan, 1.0), (1.0, math.inf)])
def test_norms_must_be_finite_and_not_negative(norm: float, epsilon: float) -> None:
    with pytest.raises(GraphError, match="finite"):
        depth_bound(norm, epsilon)


def test_only_affected_models_with_one_reference_count() -> None:
    graph = InheritanceGraph.from_references(
        {"s": [], "x": [], "y": ["x"], "a": ["s"], "b": ["a", "y"], "c": ["b"]}
    )
    assert single_reference_models(graph, ("s",)) == 2


def test_on_a_single_path_the_bound_is_where_the_update_falls_to_epsilon() -> None:
    references: dict[str, list[str]] = {"s": []}
    previous = "s"
    for i in range(1, 9):
        references |= {f"x{i}": [], f"y{i}": [previous, f"x{i}"]}
        previous = f"y{i}"
    paths = path_weights(InheritanceGraph.from_references(references), ["s"])
    bound = depth_bound(1.0, 0.04)
    assert bound == 5
    assert 1.0 * paths.row(f"y{bound}")[0] <= 0.04 < 1.0 * paths.row(f"y{bound - 1}")[0]


def test_where_paths_meet_the_bound_does_not_hold() -> None:
    """Theorem 1 bounds a path, not a model: among siblings that inherit from each other only, the paths
    add up to 1 at any depth, so nothing ever falls under epsilon."""
    references: dict[str, list[str]] = {"s": [], "a0": ["s"], "b0": ["s"]}
    for i in range(1, 9):
        references |= {f"a{i}": [f"a{i - 1}", f"b{i - 1}"], f"b{i}": [f"a{i - 1}", f"b{i - 1}"]}
    paths = path_weights(InheritanceGraph.from_references(references), ["s"])
    assert paths.row("a8")[0] == pytest.approx(1.0)
