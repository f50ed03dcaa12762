# SPDX-License-Identifier: Apache-2.0
"""Changes of one model apart from all others: jobs that any process can do."""

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
    """All that a method reads to change one model.

    Attributes:
        name, user, round: of the model.
        weights: state dict to start from, on the CPU.
        retained: training samples, (n, ...), that the owner keeps; n may be 0.
        forgotten: forgotten samples, (m, ...) with m at least 1, the owner's or lent ones; None for a method
            that does not need FORGOTTEN_DATA.
        proxy: labelled samples that belong to no user, where the request has some.
        classes: the classes that are forgotten as a whole.
        seed: of all training that the method does.
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
        """The forgotten samples.  Raises UnlearningError without any."""
        if self.forgotten is None:
            raise UnlearningError(f"no forgotten samples are there to change {self.name!r} with.")
        return self.forgotten


class Changing(Protocol):
    """A method, a dataclass of its settings, that changes models apart."""

    def changed(self, job: ModelJob, work: Work) -> Weights:
        """The model's new state dict, on the CPU; counts its sample passes.

        Raises:
            LearningError: a result that is not finite.
        """
        ...


Changer = Callable[[Changing, Iterable[ModelJob]], Iterator[tuple[Weights, Fraction]]]
"""Has jobs done; yields the new state dict and the sample passes of each, in their order."""


def change_here(method: Changing, jobs: Iterable[ModelJob]) -> Iterator[tuple[Weights, Fraction]]:
    """A `Changer`: one job after the other, in this process."""
    for job in jobs:
        work = Work()
        yield method.changed(job, work), work.passes
