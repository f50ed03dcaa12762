# SPDX-License-Identifier: Apache-2.0
"""Changes of one model, independent of all others: jobs that any process can do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from blockful_py.errors import UnlearningError
from blockful_py.learning.data import Samples
from blockful_py.learning.models import Architecture
from blockful_py.learning.weights import Weights
from blockful_py.unlearning.cost import Work


@dataclass(frozen=True, slots=True, eq=False)
class ModelJob:
    """The complete input of a method that changes one model.

    Attributes:
        name, user, round: name, owner and round of the model.
        weights: initial state dict, on the CPU.
        retained: training samples, (n, ...), that the owner keeps; n may be 0.
        forgotten: forgotten samples, (m, ...) with m at least 1, the owner's or borrowed; None for a method
            that does not need FORGOTTEN_DATA.
        proxy: labelled samples outside every user's data, if the request has any.
        classes: classes forgotten as a whole.
        seed: seed of all training that the method does.
    """

    name: str
    user: int
    round: int
    architecture: Architecture
    weights: Weights
    retained: Samples
    forgotten: Samples | None
    proxy: Samples | None
    classes: tuple[int, ...]
    seed: int

    def given(self) -> Samples:
        """The forgotten samples.  Raises UnlearningError if the job has none."""
        if self.forgotten is None:
            raise UnlearningError(f"the forgotten samples to change {self.name!r} with are missing.")
        return self.forgotten


class Changing(Protocol):
    """A method, a dataclass of its settings, that changes each model independently."""

    def changed(self, job: ModelJob, work: Work) -> Weights:
        """Changes one model; returns its new state dict, on the CPU, and counts its sample passes.

        Raises LearningError: a result that is not finite.
        """
        ...


Changer = Callable[[Changing, Iterable[ModelJob]], Iterator[tuple[Weights, Fraction]]]
"""Runs jobs; yields the new state dict and the sample passes of each, in order."""


def change_here(method: Changing, jobs: Iterable[ModelJob]) -> Iterator[tuple[Weights, Fraction]]:
    """A `Changer` that runs one job after the other in this process."""
    for job in jobs:
        work = Work()
        yield method.changed(job, work), work.passes
