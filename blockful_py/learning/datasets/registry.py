# SPDX-License-Identifier: Apache-2.0
"""Registry of the data sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import torch

from blockful_py.errors import LearningError
from blockful_py.learning.data import Dataset, require_finite_inputs
from blockful_py.learning.datasets.digits import load_digits
from blockful_py.learning.datasets.images import CIFAR10, CIFAR100, FASHION_MNIST, TINY_IMAGENET, image_loader
from blockful_py.learning.datasets.options import drawn
from blockful_py.learning.datasets.parties.dataset import NAME as PARTIES
from blockful_py.learning.datasets.parties.dataset import load_parties
from blockful_py.learning.datasets.shapes import load_shapes
from blockful_py.learning.datasets.shards import Schema
from blockful_py.learning.datasets.smaller import Smaller, smaller
from blockful_py.learning.datasets.texts import YAHOO_ANSWERS, load_yahoo_answers
from blockful_py.learning.plugins import find
from blockful_py.learning.streams import generator
from blockful_py.settings import DataOptions

Loader = Callable[[int, DataOptions], Dataset]
"""Loads a data set on the CPU from the seed of its random draws and the options."""

GROUP = "blockful.datasets"
"""Entry points of other packages' loaders."""

SMALL_CIFAR10, SMALL_FASHION = "cifar10_small", "fashion_mnist_small"

DATASETS: Mapping[str, Loader] = MappingProxyType(
    {
        "cifar10": image_loader(CIFAR10),
        SMALL_CIFAR10: smaller(SMALL_CIFAR10, image_loader(CIFAR10), Smaller(2, 7_000, 2_000)),
        "cifar100": image_loader(CIFAR100),
        "digits": load_digits,
        "fashion_mnist": image_loader(FASHION_MNIST),
        SMALL_FASHION: smaller(SMALL_FASHION, image_loader(FASHION_MNIST), Smaller(2, 7_000, 2_000)),
        PARTIES: load_parties,
        "shapes": load_shapes,
        "tiny_imagenet": image_loader(TINY_IMAGENET),
        "yahoo_answers": load_yahoo_answers,
    }
)

SCHEMAS: Mapping[str, Schema] = MappingProxyType(
    {
        **{each.name: each for each in (CIFAR10, CIFAR100, FASHION_MNIST, TINY_IMAGENET, YAHOO_ANSWERS)},
        SMALL_CIFAR10: CIFAR10,
        SMALL_FASHION: FASHION_MNIST,
    }
)
"""Schemas of the data sets that are read from files."""


def loader_of(name: str) -> Loader:
    """The loader of a data set by name or import path.  Raises SettingsError for an unknown one."""
    return find(name, "data set", DATASETS, GROUP)


def load_dataset(name: str, seed: int, device: torch.device, options: DataOptions | None = None) -> Dataset:
    """Loads, shuffles and splits a data set onto a device.

    Inputs are float32 (n, channels, height, width) or int64 (n, length), labels int64 (n,).

    Raises:
        SettingsError: no data set has this name, or its files, extra or network are missing.
        LearningError: its files are damaged or of another schema.
    """
    loader = loader_of(name)
    options = options or DataOptions()
    loaded = loader(seed, options)
    if not isinstance(loaded, Dataset):
        raise LearningError(
            f"data set {name!r} is of type {type(loaded).__name__}: have its loader return a "
            "blockful_py.learning.data.Dataset."
        )
    for which, part in loaded.parts.items():
        require_finite_inputs(f"data set {name!r}, part {which},", part)
    if options.data_limit is not None:
        stream = generator(seed, "limit", name)
        limit = options.data_limit
        loaded = loaded.each(lambda part: drawn(part, limit, stream))
    return loaded.to(device)
