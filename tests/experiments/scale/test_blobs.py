# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import torch

from blockful_lab.experiments.scale.blobs import load_blobs
from blockful_py.settings import DataOptions


def test_all_classes_are_alike_and_a_seed_gives_the_same() -> None:
    first, again, other = (load_blobs(seed, DataOptions()) for seed in (1, 1, 2))
    assert first.train.x.shape == (20_000, 1, 4, 4)
    assert torch.bincount(first.test.y).tolist() == [1_000] * 10
    assert torch.equal(first.train.x, again.train.x) and torch.equal(first.train.y, again.train.y)
    assert not torch.equal(first.train.x, other.train.x)


def test_a_class_is_nearest_to_its_own_mean() -> None:
    data = load_blobs(1, DataOptions())
    means = torch.stack([data.train.only([label]).x.flatten(1).mean(0) for label in range(10)])
    nearest = torch.cdist(data.test.x.flatten(1), means).argmin(1)
    assert (nearest == data.test.y).float().mean() > 0.95
