# SPDX-License-Identifier: Apache-2.0
"""Two tables of numbers of scikit-learn: kinds of wine, and cells of breast tumours.

    blockful experiment audit --data benchmarks.numbers:wine --data benchmarks.numbers:breast_cancer
        --seeds 5-9 --output audits

Numbers are standardised by the proxy samples, which no user has: features of models of sums may not depend on
users' data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn import datasets

from blockful_py.learning.data import Dataset, Samples
from blockful_py.learning.streams import generator
from blockful_py.settings import DataOptions

PROXY = 10
"""Proxy samples of each class."""


def wine(seed: int, options: DataOptions) -> Dataset:
    """Float32 (n, 13), 3 kinds; 100 train, 48 test, 30 proxy."""
    return _divided("wine", seed, datasets.load_wine(), 100)


def breast_cancer(seed: int, options: DataOptions) -> Dataset:
    """Float32 (n, 30), malignant or benign; 400 train, 149 test, 20 proxy."""
    return _divided("breast_cancer", seed, datasets.load_breast_cancer(), 400)


def _divided(name: str, seed: int, table: Any, train: int) -> Dataset:
    x, y = table.data.astype(np.float32), torch.from_numpy(table.target.astype(np.int64))
    order = torch.randperm(len(y), generator=generator(seed, name))
    classes = len(table.target_names)
    proxy = torch.cat([order[y[order] == label][:PROXY] for label in range(classes)])
    rest = order[~torch.isin(order, proxy)]
    mean, deviation = x[proxy].mean(0), x[proxy].std(0)
    samples = Samples(torch.from_numpy((x - mean) / deviation), y)
    train_rows, test_rows = rest[:train], rest[train:]
    return Dataset(name, classes, samples.at(train_rows), samples.at(test_rows), samples.at(proxy))
