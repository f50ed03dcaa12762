# SPDX-License-Identifier: Apache-2.0
"""The 1,797 handwritten digits that come with scikit-learn (UCI, Alpaydin and Kaynak 1998)."""

from __future__ import annotations

import torch
from sklearn import datasets as sklearn_datasets

from blockful_py.learning.data import Dataset, Samples
from blockful_py.learning.datasets.options import DataOptions, refuse_files
from blockful_py.learning.streams import generator

TRAIN, TEST = 1150, 400
BRIGHTEST = 16.0
"""Pixels are counts from 0 to 16."""


def load_digits(seed: int, options: DataOptions) -> Dataset:
    """8x8 images, scaled to [0, 1] less 0.3, shuffled by seed: 1,150 train, 400 test, 247 proxy.

    Inputs are float32 (n, 1, 8, 8), on the CPU.
    """
    refuse_files("digits", options)
    bunch = sklearn_datasets.load_digits()
    x = torch.from_numpy(bunch.images).to(torch.float32).unsqueeze(1) / BRIGHTEST - 0.3
    y = torch.from_numpy(bunch.target).to(torch.int64)
    everything = Samples(x, y)
    order = torch.randperm(len(everything), generator=generator(seed, "digits"))
    return Dataset(
        name="digits",
        class_count=10,
        train=everything.at(order[:TRAIN]),
        test=everything.at(order[TRAIN : TRAIN + TEST]),
        proxy=everything.at(order[TRAIN + TEST :]),
    )
