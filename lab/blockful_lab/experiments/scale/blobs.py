# SPDX-License-Identifier: Apache-2.0
"""A tiny data set for thousands of users: ten Gaussian clouds, as 4x4 grey images.

Only `blockful experiment scale` trains on it, by its import path, so it has no name of its own.
"""

from __future__ import annotations

import torch

from blockful_py.learning.data import Dataset, Samples
from blockful_py.learning.streams import generator
from blockful_py.settings import DataOptions

CLASSES, SIDE = 10, 4
TRAIN, TEST, PROXY = 20_000, 10_000, 100
SPREAD = 0.4
"""Standard deviation within a class; the class means have standard deviation 1."""


def load_blobs(seed: int, options: DataOptions) -> Dataset:
    """Draws the clouds: float32 (n, 1, 4, 4), labels int64 (n,), balanced classes; ignores `options`."""
    stream = generator(seed, "blobs")
    means = torch.randn(CLASSES, 1, SIDE, SIDE, generator=stream)

    def part(count: int) -> Samples:
        labels = torch.arange(count)[torch.randperm(count, generator=stream)] % CLASSES
        noise = torch.randn(count, 1, SIDE, SIDE, generator=stream)
        return Samples(means[labels] + SPREAD * noise, labels)

    return Dataset("blobs", CLASSES, part(TRAIN), part(TEST), part(PROXY))
