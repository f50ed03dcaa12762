# SPDX-License-Identifier: Apache-2.0
"""Labelled samples, held as tensors on one device."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from blockful_py.errors import LearningError

__all__ = ["Dataset", "Samples"]


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """n labelled samples on one device.

    Attributes:
        x: images, float32 (n, channels, height, width), or token ids of texts, int64 (n, length).
        y: labels, int64 (n,).

    Raises LearningError (when made) unless each input has one label.
    """

    x: Tensor
    y: Tensor

    def __post_init__(self) -> None:
        if self.y.dim() != 1 or len(self.x) != len(self.y):
            raise LearningError(
                f"samples need one label each: x has shape {tuple(self.x.shape)}, y {tuple(self.y.shape)}."
            )

    def __len__(self) -> int:
        return len(self.y)

    def at(self, rows: Tensor) -> Samples:
        """Samples at a mask, bool (n,), or at m row numbers, int64 (m,), on any device."""
        rows = rows.to(self.y.device)
        return Samples(self.x[rows], self.y[rows])

    def only(self, classes: Collection[int]) -> Samples:
        """The m samples of these classes, in order: (m, ...)."""
        return self.at(self._of(classes))

    def without(self, classes: Collection[int]) -> Samples:
        """The n - m samples of all other classes, in order: (n - m, ...)."""
        return self.at(~self._of(classes))

    def classes(self) -> tuple[int, ...]:
        """Labels that occur, ascending."""
        return labels_in(self.y)

    def to(self, device: torch.device) -> Samples:
        """The samples on a device; tensors that are there already are shared."""
        return Samples(self.x.to(device), self.y.to(device))

    def _of(self, classes: Collection[int]) -> Tensor:
        return torch.isin(self.y, torch.tensor(sorted(classes), dtype=self.y.dtype, device=self.y.device))


@dataclass(frozen=True, slots=True, eq=False)
class UserData:
    """Samples that one user holds.

    Attributes:
        index: number of the user, counted from 1 as in the paper.
    """

    index: int
    train: Samples
    test: Samples


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """A data set before it is partitioned.

    Attributes:
        train, test: samples to share out among users.
        proxy: samples that belong to no user and no test.
        vocabulary: number of token ids, where the inputs are texts.
        spare: more samples that no user has and no accuracy is measured on, where there are any: the audit's
            AUC needs many of one class.

    Raises LearningError (when made): labels or token ids out of range, or parts of different shapes.
    """

    name: str
    class_count: int
    train: Samples
    test: Samples
    proxy: Samples
    vocabulary: int | None = None
    spare: Samples | None = None

    def __post_init__(self) -> None:
        for which, part in self.parts.items():
            if part.x.shape[1:] != self.train.x.shape[1:]:
                raise LearningError(
                    f"data set {self.name!r}: inputs have shape {self.input_shape} in train and "
                    f"{tuple(part.x.shape[1:])} in {which}; give all parts one shape."
                )
            _require_range(f"{self.name!r} has {which} labels", part.y, self.class_count)
            if self.vocabulary is not None:
                _require_range(f"{self.name!r} has {which} token ids", part.x, self.vocabulary)

    @property
    def parts(self) -> dict[str, Samples]:
        """Its samples, by the name of their part: train, test, proxy, and spare where there are any."""
        parts = {"train": self.train, "test": self.test, "proxy": self.proxy}
        return parts if self.spare is None else {**parts, "spare": self.spare}

    @property
    def input_shape(self) -> tuple[int, ...]:
        """(channels, height, width) of images, (length,) of texts."""
        return tuple(self.train.x.shape[1:])

    def to(self, device: torch.device) -> Dataset:
        """The data set on a device; tensors that are there already are shared."""
        return self.each(lambda part: part.to(device))

    def each(self, change: Callable[[Samples], Samples]) -> Dataset:
        """The data set with its parts changed, in the order of `parts`."""
        train, test, proxy, *spare = (change(part) for part in self.parts.values())
        return replace(self, train=train, test=test, proxy=proxy, spare=spare[0] if spare else None)


def labels_in(labels: Tensor) -> tuple[int, ...]:
    """Distinct values of integer labels (n,), ascending."""
    return tuple(torch.unique(labels).tolist())


def pooled(samples: Iterable[Samples]) -> Samples:
    """One or more sets of samples joined in order: (n_1 + n_2 + ..., ...)."""
    listed = tuple(samples)
    return Samples(torch.cat([part.x for part in listed]), torch.cat([part.y for part in listed]))


def _require_range(what: str, values: Tensor, count: int) -> None:
    if len(values) and not 0 <= int(values.min()) <= int(values.max()) < count:
        raise LearningError(
            f"data set {what} from {int(values.min())} to {int(values.max())}; "
            f"they must be from 0 to {count - 1}: correct the file, or name the data set that it is of."
        )
