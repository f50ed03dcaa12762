# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from weakref import ref

import numpy as np
import pytest
import torch

from blockful_py.errors import UnlearningError
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.graph.path_weights import PathWeights, path_weights
from blockful_py.learning.weights import Weights, equal, flatten
from blockful_py.on_demand import KEPT, OnDemand
from blockful_py.unlearning.propagation import (
    BLOCK,
    Change,
    delta,
    length,
    moved,
    passing,
    propagate,
)


@pytest.fixture
def paths() -> PathWeights:
    return path_weights(
        InheritanceGraph.from_references({"s": [], "x": [], "y": ["s", "x"], "z": ["y"]}), ["s"]
    )


OLD = {name: {"w": torch.tensor([1.0, 2.0])} for name in "syz"}
DELTAS = {"s": {"w": torch.tensor([4.0, 0.0])}}


def test_half_of_a_change_reaches_a_model_of_two_references(paths: PathWeights) -> None:
    found = propagate(OLD, paths, DELTAS, alpha=0.5, epsilon=0.0)
    assert {name: weights["w"].tolist() for name, weights in found.weights.items()} == {
        "y": [2.0, 2.0],
        "z": [2.0, 2.0],
    }
    assert OLD["y"]["w"].tolist() == [1.0, 2.0]


def test_an_update_of_exactly_epsilon_is_left_out(paths: PathWeights) -> None:
    assert propagate(OLD, paths, DELTAS, alpha=1.0, epsilon=2.0).skipped == {"y": 2.0, "z": 2.0}
    assert propagate(OLD, paths, DELTAS, alpha=1.0, epsilon=1.999).skipped == {}


@pytest.mark.parametrize(
    ("alpha", "epsilon"), [(0.0, 0.0), (float("nan"), 0.0), (1.0, -1.0), (1.0, float("inf"))]
)
def test_alpha_and_epsilon_out_of_range_are_refused(paths: PathWeights, alpha: float, epsilon: float) -> None:
    with pytest.raises(UnlearningError, match="alpha must be positive"):
        propagate(OLD, paths, DELTAS, alpha, epsilon)


def test_every_start_and_descendant_must_be_there(paths: PathWeights) -> None:
    with pytest.raises(UnlearningError, match="weights or changes are missing for s"):
        propagate(OLD, paths, {}, 1.0, 0.0)
    with pytest.raises(UnlearningError, match="weights or changes are missing for z"):
        propagate({"s": OLD["s"], "y": OLD["y"]}, paths, DELTAS, 1.0, 0.0)


def wide(seed: int, size: int) -> Weights:
    """Tensors shorter and longer than a block, and one that is no floating-point number."""
    drawn = torch.Generator().manual_seed(seed)
    return {
        "a": torch.randn(3, generator=drawn),
        "b": torch.randn(size, 2, generator=drawn),
        "count": torch.tensor(7),
    }


def change(seed: int, size: int) -> Change:
    return {name: each for name, each in wide(seed, size).items() if each.is_floating_point()}


@pytest.mark.parametrize("size", [1, BLOCK // 2, BLOCK + 5])
def test_a_change_is_the_difference_and_its_length_is_summed_by_blocks(size: int) -> None:
    old, new = wide(0, size), wide(1, size)
    expected = flatten(new) - flatten(old)
    assert np.array_equal(flatten(delta(old, new)), expected)
    blocks = (expected[first : first + BLOCK].astype(np.float64) for first in range(0, len(expected), BLOCK))
    assert length(delta(old, new)) == sum(float(np.square(block).sum()) for block in blocks) ** 0.5


@pytest.mark.parametrize("size", [1, BLOCK // 2, BLOCK + 5])
def test_propagation_is_eq_7_to_rounding(size: int) -> None:
    graph = InheritanceGraph.from_references(
        {"s": [], "t": [], "x": [], "y": ["s", "t", "x"], "z": ["y", "t"]}
    )
    paths = path_weights(graph, ["s", "t"])
    old = {name: wide(i, size) for i, name in enumerate("styz")}
    deltas = {name: change(10 + i, size) for i, name in enumerate("st")}
    found = propagate(old, paths, deltas, alpha=0.7, epsilon=0.0).weights
    matrix = np.stack([flatten(deltas[start]).astype(np.float64) for start in paths.starts])
    for name, row in zip(paths.descendants, paths.matrix[2:], strict=True):
        expected = flatten(old[name]).astype(np.float64) + 0.7 * (row @ matrix)
        assert np.allclose(flatten(found[name]), expected, rtol=0, atol=2e-6)
        assert found[name]["count"].item() == 7
        total = np.float32(0.7 * row[0]) * flatten(deltas["s"])
        if row[1]:
            total += np.float32(0.7 * row[1]) * flatten(deltas["t"])
        assert equal(found[name], moved(old[name], total))


def test_the_norm_of_an_update_is_that_of_its_numbers() -> None:
    paths = path_weights(InheritanceGraph.from_references({"s": [], "t": [], "y": ["s", "t"]}), ["s", "t"])
    deltas = {name: change(i, BLOCK) for i, name in enumerate("st")}
    update = 0.3 * 0.5 * (flatten(deltas["s"]).astype(np.float64) + flatten(deltas["t"]))
    skipped = passing(paths, deltas, alpha=0.3, epsilon=1e9).skipped
    assert skipped["y"] == pytest.approx(float(np.linalg.norm(update)), rel=1e-12)


def test_a_start_that_has_not_changed_moves_nobody(paths: PathWeights) -> None:
    still = {"s": {"w": torch.zeros(2)}}
    assert propagate(OLD, paths, still, 1.0, 0.0).skipped == {"y": 0.0, "z": 0.0}


def test_memory_holds_few_of_many_descendants() -> None:
    names = [f"y{number}" for number in range(3 * KEPT)]
    paths = path_weights(InheritanceGraph.from_references({"s": []} | {name: ["s"] for name in names}), ["s"])
    read: list[ref[torch.Tensor]] = []

    def model(name: str) -> Weights:
        tensor = torch.ones(2)
        read.append(ref(tensor))
        return {"w": tensor}

    found = propagate(OnDemand(["s", *names], model), paths, DELTAS, 1.0, 0.0).weights
    assert read == []
    for name in found:
        assert found[name]["w"].tolist() == [5.0, 1.0]
        assert sum(each() is not None for each in read) <= KEPT + 1
    assert len(read) == len(names)
