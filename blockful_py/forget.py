# SPDX-License-Identifier: Apache-2.0
"""The data that a request forgets: classes, clients, single samples, or data sets of adopted models."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from blockful_py.errors import UnlearningError

__all__ = ["Forget", "Level"]

NUMBERED = 10**9
"""Exclusive upper bound of class labels, user indices and training rows."""


class Level(StrEnum):
    """Level of a request (paper, section Experiments; its three, and whole data sets)."""

    CLASS = "class"
    """All samples of the classes, of every user."""

    CLIENT = "client"
    """All samples of the users."""

    SAMPLE = "sample"
    """Single samples of the users."""

    DATASET = "dataset"
    """Data sets of models that were made elsewhere, by name."""


LEVELS = (Level.CLASS, Level.CLIENT, Level.SAMPLE)
"""Levels of samples that owners here hold, which methods make models forget."""


@dataclass(frozen=True, slots=True)
class Forget:
    """Data to forget; build it with `of_classes` and its like, which sort and deduplicate.

    Attributes:
        classes: labels (level class).
        clients: users by index (level client).
        samples: user and row, from 0, in that user's training data (level sample).
        datasets: names of data sets (level dataset).

    Raises UnlearningError if it is empty, mixes two kinds, or has a number out of range.
    """

    level: Level
    classes: tuple[int, ...] = ()
    clients: tuple[int, ...] = ()
    samples: tuple[tuple[int, int], ...] = ()
    datasets: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        named = {
            Level.CLASS: self.classes,
            Level.CLIENT: self.clients,
            Level.SAMPLE: self.samples,
            Level.DATASET: self.datasets,
        }
        if not named[self.level]:
            raise UnlearningError(f"a request needs at least one {self.level} to forget.")
        if sum(map(bool, named.values())) > 1:
            raise UnlearningError("a request forgets classes, clients, samples or data sets: name one kind.")
        rows = (row for _, row in self.samples)
        for what, numbers in (("class", self.classes), ("client", self.owners()), ("row", rows)):
            strangers = [number for number in numbers if not 0 <= number < NUMBERED]
            if strangers:
                raise UnlearningError(f"there is no {what} {strangers[0]}: name 0 to {NUMBERED - 1}.")

    @classmethod
    def of_classes(cls, labels: Iterable[int]) -> Forget:
        return cls(Level.CLASS, classes=tuple(sorted(set(labels))))

    @classmethod
    def of_clients(cls, users: Iterable[int]) -> Forget:
        return cls(Level.CLIENT, clients=tuple(sorted(set(users))))

    @classmethod
    def of_samples(cls, samples: Iterable[tuple[int, int]]) -> Forget:
        return cls(Level.SAMPLE, samples=tuple(sorted(set(samples))))

    @classmethod
    def of_datasets(cls, names: Iterable[str]) -> Forget:
        return cls(Level.DATASET, datasets=tuple(sorted(set(names))))

    def owners(self) -> tuple[int, ...]:
        """Indices of the named users; empty at level class."""
        return tuple(sorted({*self.clients, *(user for user, _ in self.samples)}))

    def rows(self, user: int) -> tuple[int, ...]:
        """The user's rows to forget; empty at the other levels."""
        return tuple(row for owner, row in self.samples if owner == user)

    def __str__(self) -> str:
        """For example `class 3, 8`, `client 5` or `sample 5:17` (user 5, row 17)."""
        pairs = (f"{user}:{row}" for user, row in self.samples)
        return (
            f"{self.level} {', '.join((*map(str, (*self.classes, *self.clients)), *pairs, *self.datasets))}"
        )
