# SPDX-License-Identifier: Apache-2.0
"""Training by the participants' own program, on data that only this program can access."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from blockful_py.errors import LearningError, SettingsError
from blockful_py.learning.models import Architecture
from blockful_py.learning.plugins import failing_as, find
from blockful_py.learning.weights import Weights, detached, require_finite, require_same_form

GROUP = "blockful.trainers"
"""Entry points of other packages' trainers."""


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """One model to train.

    Attributes:
        name: name of the model.
        user, round: counted from 1.
        start: W~ of the paper's eq. 3, a state dict on the CPU.
        seed: seed of the federation.
        references: names of the references, best first, where a model is published.
    """

    name: str
    user: int
    round: int
    start: Weights
    seed: int
    references: tuple[str, ...] = ()


class Trainer(Protocol):
    """Replaces the built-in SGD on local samples (setting `learning.trainer`)."""

    def train(self, assignments: Sequence[Assignment]) -> Sequence[Weights]:
        """Trains models that do not depend on each other; returns their state dicts, on the CPU, in order.

        A weight must depend only on its assignment and the participant's data: a trainer's memory of earlier
        trainings would survive unlearning.
        """
        ...


def find_trainer(name: str | None) -> Trainer | None:
    """The trainer that a setting names; None for None.

    Raises SettingsError if it cannot be imported or is not a trainer.
    """
    if name is None:
        return None
    found: Trainer = find(name, "trainer", {}, GROUP)
    if not callable(getattr(found, "train", None)):
        raise SettingsError(
            f"learning.trainer names {name!r}, of type {type(found).__name__}, which has no method "
            "train(assignments): wrap it, for example a Flower ClientApp in blockful_py.flower.FlowerUser."
        )
    return found


def train_by(
    trainer: Trainer, architecture: Architecture, assignments: Sequence[Assignment]
) -> tuple[Weights, ...]:
    """Trains by `trainer` and checks the results: state dicts on the CPU, in order.

    Passes each start in the order of the network's state dict, on which some programs rely. Raises
    LearningError, naming the model, for weights that are not finite or differ in form from the start, and for
    any error of the trainer.
    """
    if not assignments:
        return ()
    ordered = [replace(each, start=architecture.ordered(each.start)) for each in assignments]
    with failing_as(LearningError, "learning.trainer"):
        trained = tuple(detached(weights) for weights in trainer.train(ordered))
    for assignment, weights in zip(assignments, trained, strict=True):
        require_trained(assignment.name, assignment.start, weights)
    return trained


def require_trained(name: str, start: Weights, trained: Weights) -> None:
    """Checks that trained weights are finite and have the form of their start.  Raises LearningError."""
    require_same_form({f"the start of {name}": start, name: trained})
    require_finite(trained, f"model {name}")
