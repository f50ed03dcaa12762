# SPDX-License-Identifier: Apache-2.0
"""Reduced versions of image data sets: fewer images, with fewer pixels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch.nn import functional

from blockful_py.errors import LearningError, SettingsError
from blockful_py.learning.data import Dataset, Samples
from blockful_py.learning.datasets.options import drawn, parted
from blockful_py.learning.streams import generator
from blockful_py.settings import DataOptions


@dataclass(frozen=True, slots=True)
class Smaller:
    """Size of a reduced data set.

    Attributes:
        pool: side of the square of pixels that is averaged to one pixel.
        train, test: maximum numbers of images, drawn by seed; all proxy images are kept, and the remaining
            test images become the spare ones.

    The constructor raises SettingsError for a number below 1.
    """

    pool: int
    train: int
    test: int

    def __post_init__(self) -> None:
        if min(self.pool, self.train, self.test) < 1:
            raise SettingsError(
                f"pool, train and test must be at least 1, not {self.pool}, {self.train} and {self.test}."
            )


def smaller(
    name: str, load: Callable[[int, DataOptions], Dataset], to: Smaller
) -> Callable[[int, DataOptions], Dataset]:
    """A loader of the reduced version, `name`: float32 (n, channels, height / pool, width / pool).

    The loader raises as `load`, and LearningError unless the data set has images whose sides are multiples of
    `pool`.
    """

    def reduced(seed: int, options: DataOptions) -> Dataset:
        whole = load(seed, options)
        if len(whole.input_shape) != 3 or any(side % to.pool for side in whole.input_shape[1:]):
            raise LearningError(
                f"{name!r} needs images whose sides are multiples of {to.pool}, {whole.name!r} has inputs of "
                f"shape {whole.input_shape}: choose another data set or pool."
            )
        train = drawn(whole.train, to.train, generator(seed, name, "train"))
        test, spare = parted(whole.test, to.test, generator(seed, name, "test"))
        train, test, proxy, spare = (_pooled(part, to.pool) for part in (train, test, whole.proxy, spare))
        return Dataset(name, whole.class_count, train, test, proxy, spare=spare)

    return reduced


def _pooled(samples: Samples, pool: int) -> Samples:
    return Samples(functional.avg_pool2d(samples.x, pool), samples.y)
