# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
import torch

from blockful_py.errors import LearningError, SettingsError
from blockful_py.learning.data import Dataset, Samples, pooled, require_finite_inputs
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.device import resolve_device

CPU = torch.device("cpu")


def test_digits_are_scaled_split_and_disjoint(digits: Dataset) -> None:
    parts = (digits.train, digits.test, digits.proxy)
    assert [len(part) for part in parts] == [1150, 400, 247]
    assert digits.input_shape == (1, 8, 8)
    everything = pooled(parts)
    assert everything.x.dtype == torch.float32
    assert everything.classes() == tuple(range(10))
    assert everything.x.min().item() == pytest.approx(-0.3)
    assert everything.x.max().item() == pytest.approx(0.7)
    assert len(torch.unique(everything.x, dim=0)) == 1797


def test_the_seed_decides_the_shuffle(digits: Dataset) -> None:
    assert torch.equal(load_dataset("digits", 0, CPU).train.x, digits.train.x)
    assert not torch.equal(load_dataset("digits", 1, CPU).train.x, digits.train.x)


def test_an_unknown_data_set_lists_the_known_ones() -> None:
    with pytest.raises(SettingsError, match=r"'mnist'\. Known: cifar10, cifar100, cifar10_small, digits"):
        load_dataset("mnist", 0, CPU)


def test_forget_and_retain_set_are_complements(digits: Dataset) -> None:
    forget, retain = digits.test.only((3, 8)), digits.test.without((3, 8))
    assert forget.classes() == (3, 8)
    assert len(forget) + len(retain) == len(digits.test)
    assert not {3, 8} & set(retain.classes())


def test_every_sample_has_one_label() -> None:
    with pytest.raises(LearningError, match="one label each"):
        Samples(torch.zeros(3, 1), torch.zeros(2, dtype=torch.int64))


IMAGES = torch.rand(3, 1, 2, 2)
LABELS = torch.tensor([0, 1, 1])


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (IMAGES.double(), LABELS.int()),
        (IMAGES.numpy(), LABELS.numpy()),
        (IMAGES.numpy().tolist(), [0, 1, 1]),
        (IMAGES.clone().requires_grad_(), LABELS.bool()),
        (IMAGES, LABELS.float()),
        (IMAGES, LABELS.to(torch.uint8)),
    ],
)
def test_what_is_harmless_is_converted(x: Any, y: Any) -> None:
    samples = Samples(x, y)
    assert (samples.x.dtype, samples.y.dtype, samples.x.requires_grad) == (torch.float32, torch.int64, False)
    assert torch.equal(samples.x, IMAGES)
    assert torch.equal(samples.y, LABELS)


def test_samples_that_share_memory_get_their_own() -> None:
    samples = Samples(torch.zeros(1, 1, 2, 2).expand(3, 1, 2, 2), torch.zeros(()).long().expand(3))
    samples.x[0] = 1.0
    assert samples.x.sum() == 4
    assert torch.equal(Samples(IMAGES.half(), LABELS).x, IMAGES.half().float())


@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [
        (IMAGES, torch.tensor([0.5, 0.0, 1.0]), r"labels are numbers of classes.*y\.argmax\(1\)"),
        (IMAGES, torch.zeros(3, 10), "one label each"),
        (IMAGES, ["a", "b", "c"], "labels are of type list: give a tensor or a NumPy array of numbers"),
        ({"x": 1}, LABELS, "inputs are of type dict"),
        (IMAGES + 1j, LABELS, r"complex numbers: give their parts as channels, torch\.view_as_real"),
    ],
)
def test_what_is_no_sample_is_refused(x: Any, y: Any, reason: str) -> None:
    with pytest.raises(LearningError, match=reason):
        Samples(x, y)


def data_of(x: Any, vocabulary: int | None = None) -> Dataset:
    part = Samples(x, LABELS)
    return Dataset("own", 2, part, part, part, vocabulary)


@pytest.mark.parametrize(
    ("x", "vocabulary", "reason"),
    [
        (
            (255 * IMAGES).to(torch.uint8),
            None,
            r"inputs of type torch\.uint8: give images as float32, as x\.float",
        ),
        ((255 * IMAGES).long(), None, r"vocabulary=30_000"),
        (IMAGES[:, 0, 0], 9, r"has a vocabulary, and train inputs of type torch\.float32: give token ids"),
        (torch.zeros(3, 5, dtype=torch.int64) - 1, 9, "token ids"),
    ],
)
def test_inputs_whose_scale_nobody_knows_are_refused(x: Any, vocabulary: int | None, reason: str) -> None:
    with pytest.raises(LearningError, match=reason):
        data_of(x, vocabulary)
    assert data_of(torch.zeros(3, 5, dtype=torch.int16), 9).train.x.dtype == torch.int64


def test_what_is_not_a_number_is_named_as_the_datas() -> None:
    x = IMAGES.clone()
    x[1, 0, 1, 1], x[2, 0, 0, 0] = torch.nan, torch.inf
    with pytest.raises(LearningError, match=r"own.*NaN or infinite inputs in 2 of 3 rows, first in row 1"):
        require_finite_inputs("own", Samples(x, LABELS))
    require_finite_inputs("own", Samples(IMAGES, LABELS))


def a_pair(seed: int, options: Any) -> tuple[Samples, Samples]:
    return Samples(IMAGES, LABELS), Samples(IMAGES, LABELS)


def with_a_hole(seed: int, options: Any) -> Dataset:
    return data_of(IMAGES / torch.tensor([0.0, 1.0]))


@pytest.mark.parametrize(
    ("loader", "reason"),
    [
        (a_pair, r"is of type tuple: have its loader return a blockful_py"),
        (with_a_hole, "part train, has NaN"),
    ],
)
def test_a_loader_of_ones_own_returns_a_data_set_of_numbers(loader: Any, reason: str) -> None:
    with pytest.raises(LearningError, match=reason):
        load_dataset(f"{__name__}:{loader.__name__}", 0, CPU)


@pytest.mark.parametrize("name", ["gpu", "cuda:99", ""])
def test_a_device_that_is_not_there_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="device"):
        resolve_device(name)


def test_a_device_is_found() -> None:
    assert resolve_device("cpu") == CPU
    assert resolve_device("auto").type in {"cpu", "cuda"}
