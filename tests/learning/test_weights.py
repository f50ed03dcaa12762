# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from blockful_py.errors import FormatError, LearningError, SettingsError
from blockful_py.learning.models import Architecture
from blockful_py.learning.streams import generator
from blockful_py.learning.weights import Weights, aggregate, equal, flatten, from_bytes, to_bytes, unflatten


@pytest.fixture(scope="module")
def weights(cnn: Architecture) -> Weights:
    return cnn.initial(generator(0))


def test_the_small_network_has_13706_parameters(weights: Weights) -> None:
    assert sum(tensor.numel() for tensor in weights.values()) == 13_706


def test_bytes_come_back_as_the_same_weights(weights: Weights) -> None:
    data = to_bytes(weights)
    assert equal(from_bytes(data), weights)
    assert to_bytes(from_bytes(data)) == data
    assert to_bytes(dict(reversed(weights.items()))) == data


@pytest.mark.parametrize("cut", [0, 4, 100, -1])
def test_a_truncated_file_is_refused(weights: Weights, cut: int) -> None:
    with pytest.raises(FormatError, match="not a whole safetensors file"):
        from_bytes(to_bytes(weights)[:cut])


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(weights: Weights, value: float) -> None:
    broken = {**weights, "head.bias": torch.full((10,), value)}
    with pytest.raises(LearningError, match=r"head\.bias"):
        from_bytes(to_bytes(broken))


def test_a_vector_comes_back_as_the_same_weights(weights: Weights) -> None:
    vector = flatten(weights)
    assert vector.shape == (13_706,)
    assert equal(unflatten(vector, weights), weights)


def test_a_counter_is_not_part_of_the_vector_and_survives(weights: Weights) -> None:
    counted = {**weights, "batches": torch.tensor(7)}
    assert flatten(counted).shape == (13_706,)
    assert equal(unflatten(flatten(counted), counted), counted)
    assert aggregate([counted, counted])["batches"].item() == 7


def test_a_vector_of_another_length_is_refused(weights: Weights) -> None:
    with pytest.raises(LearningError, match="13706"):
        unflatten(flatten(weights)[1:], weights)


@given(st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=5))
def test_the_aggregate_is_the_mean(values: list[float]) -> None:
    found = aggregate([{"w": torch.tensor([value])} for value in values])["w"].item()
    assert found == pytest.approx(sum(values) / len(values), abs=1e-3)


def test_an_aggregate_leaves_its_references_alone() -> None:
    first = {"w": torch.ones(2)}
    aggregate([first, {"w": torch.zeros(2)}])
    assert torch.equal(first["w"], torch.ones(2))


def test_an_aggregate_needs_references_of_one_architecture(cnn: Architecture, weights: Weights) -> None:
    with pytest.raises(LearningError, match="at least one"):
        aggregate([])
    other = Architecture("cnn", (1, 16, 16), 20).initial(generator(0))
    with pytest.raises(LearningError, match="'reference 1' and 'reference 2' have different architectures"):
        aggregate([weights, other])
    with pytest.raises(LearningError, match=r"not of a 'cnn' .* dense\.weight"):
        cnn.module(other, torch.device("cpu"))


def test_an_unknown_architecture_lists_the_known_ones() -> None:
    with pytest.raises(SettingsError, match=r"'resnet'\. Known: alexnet, analytic, bert, cnn"):
        Architecture("resnet", (1, 8, 8), 10)


def test_initial_weights_follow_their_stream(cnn: Architecture, weights: Weights) -> None:
    assert equal(cnn.initial(generator(0)), weights)
    assert not equal(cnn.initial(generator(1)), weights)


def test_labels_never_meet_in_one_stream() -> None:
    seeds = {
        generator(*labels).initial_seed()
        for labels in [(1, "ab"), (1, "a", "b"), (11, "b"), (1, 1, "b"), (1,)]
    }
    assert len(seeds) == 5
