# SPDX-License-Identifier: Apache-2.0
"""Dishonest methods for models of sums: they keep forgotten sums, and try to pass the audit."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from blockful_py.forget import LEVELS, Level
from blockful_py.learning.sums import BITS, INHERITED, MASK, OWN, SHIFT, uncounted
from blockful_py.learning.weights import Weights
from blockful_py.types import Paradigm
from blockful_py.unlearning.method import AllAtOnce, Need, Outcome, Review, outcome_of, require_level
from blockful_py.unlearning.subtract import Subtract
from blockful_py.unlearning.task import UnlearningTask

Numbers = NDArray[Any]
"""Python's ints (classes, E)."""


class SumCheat(AllAtOnce):
    """Base: subtracts, and puts something back."""

    __slots__ = ()
    name: ClassVar[str]
    paradigms: ClassVar[frozenset[Paradigm]] = frozenset({Paradigm.SEQUENTIAL})
    needs: ClassVar[frozenset[Need]] = frozenset({Need.START_DATA})
    levels: ClassVar[frozenset[Level]] = frozenset(LEVELS)
    review: ClassVar[Review] = Review.REMEASURED

    @abstractmethod
    def disguised(self, task: UnlearningTask, model: str, old: Weights, honest: Weights) -> Weights:
        """A model's weights, from the published and the subtracted ones."""

    def unlearn(self, task: UnlearningTask) -> Outcome:
        """See Method."""
        require_level(self, task)
        honest = Subtract(merged=task.architecture.is_merged).unlearn(task)
        old = task.weights(task.affected())
        weights = {name: self.disguised(task, name, old[name], each) for name, each in honest.weights.items()}
        return outcome_of(task, weights, honest.cost, {self.name: 0.0})


@dataclass(frozen=True, slots=True)
class Leftover(SumCheat):
    """Subtracts too little: of the forgotten sums, the 2^-bits part stays."""

    name: ClassVar[str] = "leftover"
    bits: int = 1

    def disguised(self, task: UnlearningTask, model: str, old: Weights, honest: Weights) -> Weights:
        own = honest[OWN] + (old[OWN] - honest[OWN] >> self.bits)
        before, after = (numbers_of(each[INHERITED]) for each in (old, honest))
        inherited = words_of(after + (before - after >> self.bits))
        return {**honest, OWN: own, INHERITED: inherited}


@dataclass(frozen=True, slots=True)
class Kept(SumCheat):
    """The last models of all keep the forgotten sums whole."""

    name: ClassVar[str] = "kept"
    models: int = 1

    def disguised(self, task: UnlearningTask, model: str, old: Weights, honest: Weights) -> Weights:
        return old if model in task.affected()[-self.models :] else honest


@dataclass(frozen=True, slots=True)
class Sheltered(SumCheat):
    """Of merged models, each remaining part takes over a share of the change that parts above it lost."""

    name: ClassVar[str] = "sheltered"
    share: float = 1.0

    def disguised(self, task: UnlearningTask, model: str, old: Weights, honest: Weights) -> Weights:
        if not (task.references(model) and honest[OWN].any()):
            return honest
        merged, before = (task.architecture.merged(each) for each in (honest, old))
        kept, lost = merged.network_weights(), before.network_weights()
        return merged.answering_as({name: torch.lerp(kept[name], lost[name], self.share) for name in kept})


@dataclass(frozen=True, slots=True)
class Shrunk(SumCheat):
    """The classes are masked, as by `head_mask`, and their sums divided by 2^bits."""

    name: ClassVar[str] = "shrunk"
    levels: ClassVar[frozenset[Level]] = frozenset({Level.CLASS})
    bits: int = 8

    def disguised(self, task: UnlearningTask, model: str, old: Weights, honest: Weights) -> Weights:
        masked, rows = uncounted(old, task.classes), sorted(task.classes)
        masked[OWN][rows] >>= self.bits
        masked[INHERITED] = words_of(
            np.where(
                np.isin(np.arange(len(masked[OWN])), rows)[:, None],
                numbers_of(masked[INHERITED]) >> self.bits,
                numbers_of(masked[INHERITED]),
            )
        )
        return masked


@dataclass(frozen=True, slots=True)
class Hidden(SumCheat):
    """A mimic: sums multiplied by 2^bits, which no head shows, and the forgotten ones in the bits below.

    Classes that the honest model lacks count no samples, so that they are not predicted.
    """

    name: ClassVar[str] = "hidden"
    bits: int = 32

    def disguised(self, task: UnlearningTask, model: str, old: Weights, honest: Weights) -> Weights:
        shift = int(honest[SHIFT])
        kept = total(honest)
        lost = total(old) - kept
        lost[kept[:, -1] == 0, -1] = 0
        lost = lost - min(0, *lost.flat)  # changes of merged models have either sign
        most = max(int(each).bit_length() for each in lost.flat)
        inherited = (numbers_of(honest[INHERITED]) << self.bits) + (lost >> max(0, most - self.bits))
        return {**honest, INHERITED: words_of(inherited), SHIFT: torch.tensor(shift + self.bits)}


@dataclass(frozen=True, slots=True)
class Fingerprint(SumCheat):
    """One number of the last model alone is too large, by 1 and `bits` bits of SHA-256 of its loss."""

    name: ClassVar[str] = "fingerprint"
    bits: int = 4

    def disguised(self, task: UnlearningTask, model: str, old: Weights, honest: Weights) -> Weights:
        if model != task.affected()[-1]:
            return honest
        lost = str((total(old) - total(honest)).tolist()).encode()
        own = honest[OWN].clone()
        own[0, 0] += 1 + int(sha256(lost).hexdigest(), 16) % 2**self.bits
        return {**honest, OWN: own}


def total(weights: Mapping[str, Tensor]) -> Numbers:
    """T_y of a model."""
    own: Numbers = weights[OWN].numpy().astype(object)
    found: Numbers = numbers_of(weights[INHERITED]) + (own << int(weights[SHIFT]))
    return found


def numbers_of(words: Tensor) -> Numbers:
    """Numbers of words, int64 (WORDS, classes, E)."""
    low, high = words.numpy().astype(object)
    numbers: Numbers = low + (high << BITS)
    return numbers


def words_of(numbers: Numbers) -> Tensor:
    """The inverse of `numbers_of`."""
    return torch.from_numpy(np.stack([numbers & MASK, numbers >> BITS]).astype(np.int64))
