# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
import torch

from blockful_py.errors import LearningError, SettingsError
from blockful_py.learning.data import Dataset, Samples, pooled
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


@pytest.mark.parametrize("name", ["gpu", "cuda:99", ""])
def test_a_device_that_is_not_there_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="device"):
        resolve_device(name)


def test_a_device_is_found() -> None:
    assert resolve_device("cpu") == CPU
    assert resolve_device("auto").type in {"cpu", "cuda"}
