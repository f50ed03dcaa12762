# SPDX-License-Identifier: Apache-2.0
"""Finds the number of epochs after which the accuracy on held-out training samples stops rising."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from blockful_py.errors import LearningError
from blockful_py.learning.data import Samples, UserData, pooled
from blockful_py.learning.evaluation import accuracies
from blockful_py.learning.federation import FederationSpec, train_federation
from blockful_py.learning.streams import generator

HELD_OUT = 0.2
"""Share of a user's training samples that is held out."""

MOST_EPOCHS = 64
"""Maximum number of epochs tried, a power of 2."""


@dataclass(frozen=True, slots=True)
class Plateau:
    """The epochs found, with the accuracies behind them.

    Attributes:
        epochs: epochs of a model with references; a root trains `root_factor` times as many.
        accuracies: mean accuracy on the held-out samples, from 0 to 1, by number of epochs (as text, for
            JSON).
        held_out: number of held-out samples.
    """

    epochs: int
    accuracies: Mapping[str, float]
    held_out: int


def find_plateau(settings: FederationSpec, users: Sequence[UserData]) -> Plateau:
    """Finds the smallest number of epochs whose doubling and quadrupling raise the accuracy insignificantly.

    Each user holds out a fifth of its training samples, drawn by seed.  The federation is trained on the
    others for 1, 2, 4, ... epochs, with the held-out samples in place of the users' test samples, which stay
    unread.  With a(E) the mean accuracy of all models on all n held-out samples, the result is the first E of
    1, 2, 4, ... 32 with

    `a(F) - a(E) <= sqrt(a (1 - a) / n)`, a the larger of both, for F = 2E and, if that is at most 64, F = 4E,

    and with a(E) more than such an error above the share of the commonest class.  If there is no such E, the
    result is 64.  One doubling does not suffice, because accuracy can rest before it rises.

    Raises SettingsError, LearningError: a user has fewer than two samples, or as `train_federation`.
    """
    split = [_split(user, settings.seed) for user in users]
    held = pooled(user.test for user in split)
    chance = float(torch.bincount(held.y).max()) / len(held)
    found: dict[int, float] = {}
    epochs = 1
    level: int | None = None
    while level is None and epochs <= MOST_EPOCHS:
        found[epochs] = _accuracy(settings, split, held, epochs)
        level = level_of(found, len(held), chance)
        epochs *= 2
    reached = {str(each): round(accuracy, 6) for each, accuracy in found.items()}
    return Plateau(level or MOST_EPOCHS, reached, len(held))


def level_of(found: Mapping[int, float], count: int, chance: float) -> int | None:
    """The first number of epochs known to suffice by the rule of `find_plateau`; None if more must be tried.

    Args:
        found: accuracies by epochs: 1, 2, 4, ...
        count: number of samples behind the accuracies.
        chance: share of the commonest class.
    """
    for epochs in found:
        more = [each for each in (2 * epochs, 4 * epochs) if each <= MOST_EPOCHS]
        if more and all(each in found and is_level(found, epochs, each, count, chance) for each in more):
            return epochs
    return None


def is_level(found: Mapping[int, float], epochs: int, more: int, count: int, chance: float) -> bool:
    """Whether `more` epochs gain at most one standard error, and `epochs` beat chance by more than one."""
    larger = max(found[epochs], found[more])
    error = math.sqrt(larger * (1 - larger) / count)
    return found[more] - found[epochs] <= error and found[epochs] > chance + error


def _accuracy(settings: FederationSpec, users: Sequence[UserData], held: Samples, epochs: int) -> float:
    timed = replace(settings, training=replace(settings.training, epochs=epochs))
    models = {model.name: model.weights for wave in train_federation(timed, users) for model in wave}
    scored = accuracies(settings.architecture, models, held)
    return math.fsum(scored.values()) / len(scored)


def _split(user: UserData, seed: int) -> UserData:
    """Moves a part of the user's training samples to its test samples."""
    size = len(user.train)
    if size < 2:
        raise LearningError(
            f"user {user.index} has {size} training samples, too few to hold one out: give it more."
        )
    order = torch.randperm(size, generator=generator(seed, "held out", user.index))
    count = max(1, round(HELD_OUT * size))
    return UserData(user.index, user.train.at(order[count:]), user.train.at(order[:count]))
