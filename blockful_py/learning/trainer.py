# SPDX-License-Identifier: Apache-2.0
"""Training by a program of the participants' own, on data that only it reaches."""

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
        name: of the model.
        user, round: counted from 1.
        start: W~ of the paper's eq. 3, a state dict on the CPU.
        seed: of the federation.
    """

    name: str
    user: int
    round: int
    start: Weights
    seed: int


class Trainer(Protocol):
    """Takes the place of SGD on samples that are here (setting `learning.trainer`)."""

    def train(self, assignments: Sequence[Assignment]) -> Sequence[Weights]:
        """State dicts on the CPU, in order, of models that do not depend on each other.

        A weight must depend on its assignment and the participant's data alone: what a trainer remembers of
        earlier trainings would survive unlearning.
        """
        ...


def find_trainer(name: str | None) -> Trainer | None:
    """The trainer of a setting; None for None.

    Raises SettingsError when it cannot be imported, or is none.
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
    """The trainer's results, checked: state dicts on the CPU, in order.

    It gets each start in the order of the network's state dict, on which some programs rely.

    Raises LearningError, naming the model, for weights of another form than it started from, or not finite,
    and for whatever the trainer raises.
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
    """Raises LearningError unless a model's weights have the form of those it started from and are finite."""
    require_same_form({f"the start of {name}": start, name: trained})
    require_finite(trained, f"model {name}")
