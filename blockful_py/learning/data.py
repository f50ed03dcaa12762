# SPDX-License-Identifier: Apache-2.0
"""Labelled samples as tensors on one device."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from blockful_py.errors import LearningError

__all__ = ["Dataset", "Samples"]


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """n labelled samples on one device.

    Arrays and other numeric types are converted if rounding to float32 is the only change of values.

    Attributes:
        x: images, float32 (n, channels, height, width), or token ids of texts, int64 (n, length).
        y: labels, int64 (n,).

    The constructor raises LearningError unless x is an array, y holds whole numbers and each input has one
    label.
    """

    x: Tensor
    y: Tensor

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", _inputs(self.x))
        object.__setattr__(self, "y", _labels(self.y))
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
        return tuple(torch.unique(self.y).tolist())

    def to(self, device: torch.device) -> Samples:
        """The samples on a device; tensors already there are shared."""
        return Samples(self.x.to(device), self.y.to(device))

    def _of(self, classes: Collection[int]) -> Tensor:
        return torch.isin(self.y, torch.tensor(sorted(classes), dtype=self.y.dtype, device=self.y.device))


@dataclass(frozen=True, slots=True, eq=False)
class UserData:
    """Samples of one user.

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
        train, test: samples to divide among users.
        proxy: samples outside the users' data and the tests.
        vocabulary: number of token ids, for texts.
        spare: optional samples that no user holds and no accuracy is measured on; the audit's AUC needs many
            samples of one class.
        rule: JSON of the rule that turned parties' own files into samples (`learning.datasets.parties.rule`).
        holdings: numbers of train and test samples of each party, in order, if rows belong to parties.

    The constructor raises LearningError for labels or token ids out of range, parts of different shapes, or
    inputs whose type has no defined range.
    """

    name: str
    class_count: int
    train: Samples
    test: Samples
    proxy: Samples
    vocabulary: int | None = None
    spare: Samples | None = None
    rule: str | None = None
    holdings: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        for which, part in self.parts.items():
            self._require_type(which, part.x)
            if part.x.shape[1:] != self.train.x.shape[1:]:
                raise LearningError(
                    f"data set {self.name!r}: inputs have shape {self.input_shape} in train and "
                    f"{tuple(part.x.shape[1:])} in {which}; give all parts one shape."
                )
            _require_range(f"{self.name!r} has {which} labels", part.y, self.class_count)
            if self.vocabulary is not None:
                _require_range(f"{self.name!r} has {which} token ids", part.x, self.vocabulary)

    def _require_type(self, which: str, x: Tensor) -> None:
        if self.vocabulary is None and x.dtype != torch.float32:
            raise LearningError(
                f"data set {self.name!r} has {which} inputs of type {x.dtype}: give images as float32, as "
                "x.float() / 255, or say how many token ids there are, as Dataset(..., vocabulary=30_000)."
            )
        if self.vocabulary is not None and x.dtype != torch.int64:
            raise LearningError(
                f"data set {self.name!r} has a vocabulary, and {which} inputs of type {x.dtype}: give token "
                "ids, as x.long(), or leave the vocabulary out."
            )

    @property
    def parts(self) -> dict[str, Samples]:
        """The data set's samples by part: train, test, proxy, and spare if there are any."""
        parts = {"train": self.train, "test": self.test, "proxy": self.proxy}
        return parts if self.spare is None else {**parts, "spare": self.spare}

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one input: (channels, height, width) of images, (length,) of texts."""
        return tuple(self.train.x.shape[1:])

    def to(self, device: torch.device) -> Dataset:
        """The data set on a device; tensors already there are shared."""
        return self.each(lambda part: part.to(device))

    def each(self, change: Callable[[Samples], Samples]) -> Dataset:
        """Applies `change` to each part, in the order of `parts`."""
        train, test, proxy, *spare = (change(part) for part in self.parts.values())
        return replace(self, train=train, test=test, proxy=proxy, spare=spare[0] if spare else None)


def pooled(samples: Iterable[Samples]) -> Samples:
    """Joins one or more sets of samples in order: (n_1 + n_2 + ..., ...)."""
    listed = tuple(samples)
    return Samples(torch.cat([part.x for part in listed]), torch.cat([part.y for part in listed]))


def _require_range(what: str, values: Tensor, count: int) -> None:
    if len(values) and not 0 <= int(values.min()) <= int(values.max()) < count:
        raise LearningError(
            f"data set {what} from {int(values.min())} to {int(values.max())}; "
            f"they must be from 0 to {count - 1}: correct the file, or name its own data set."
        )


def require_finite_inputs(whose: str, samples: Samples) -> None:
    """Checks that inputs are finite.  Raises LearningError with the first row that is NaN or infinite."""
    if samples.x.is_floating_point() and not bool(torch.isfinite(samples.x).all()):
        rows = ~torch.isfinite(samples.x.flatten(1)).all(1)
        first = int(torch.nonzero(rows)[0])
        raise LearningError(
            f"{whose} has NaN or infinite inputs in {int(rows.sum())} of {len(rows)} rows, first in row "
            f"{first}: correct them, or leave them out."
        )


def _tensor(what: str, values: Any) -> Tensor:
    if isinstance(values, Tensor):
        tensor = values.detach() if values.requires_grad else values
    else:
        try:
            tensor = torch.tensor(np.asarray(values))
        except (TypeError, ValueError) as error:
            raise LearningError(
                f"{what} are of type {type(values).__name__}: give a tensor or a NumPy array of numbers "
                f"({error})."
            ) from None
    shared = any(step == 0 and size > 1 for step, size in zip(tensor.stride(), tensor.shape, strict=True))
    return tensor.contiguous() if shared else tensor


def _inputs(values: Any) -> Tensor:
    """Converts floats to float32 and integers of more than a byte to int64; keeps uint8 and bool."""
    x = _tensor("inputs", values)
    if x.is_complex():
        raise LearningError(
            "inputs are complex numbers: give their parts as channels, torch.view_as_real(x)."
        )
    if x.is_floating_point():
        return x.float()
    return x if x.dtype in (torch.uint8, torch.bool) else x.long()


def _labels(values: Any) -> Tensor:
    y = _tensor("labels", values)
    if y.dtype == torch.int64:
        return y
    if y.is_complex() or (y.is_floating_point() and not bool((y == y.round()).all())):
        raise LearningError(
            f"labels are numbers of classes, from 0, and not of type {y.dtype} with fractions: give "
            "y.argmax(1) for probabilities of classes."
        )
    return y.long()
