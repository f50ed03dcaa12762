# SPDX-License-Identifier: Apache-2.0
"""Epochs are doubled until the held-out accuracy rises no more."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from blockful_lab.experiments import plateau
from blockful_lab.experiments.plateau import find_plateau
from blockful_py.errors import LearningError
from blockful_py.learning.data import Samples, UserData
from blockful_py.learning.federation import FederationSpec
from blockful_py.learning.models import Architecture
from blockful_py.learning.streams import generator
from blockful_py.settings import FederationSettings, TrainingSettings

CLASSES, EACH = 3, 60
FEDERATION = FederationSettings("organic", "all_hold", users=3, rounds=2, candidates=2, candidate_window=3)
SPEC = FederationSpec(
    Architecture("cnn", (1, 4, 4), CLASSES),
    FEDERATION,
    TrainingSettings(epochs=1, learning_rate=0.05),
    starting_users=(1,),
)


def clouds(label: str, spread: float, count: int = EACH) -> Samples:
    """Classes around three points."""
    means = torch.randn(CLASSES, 1, 4, 4, generator=generator(0, "means"))
    y = torch.arange(count) % CLASSES
    noise = torch.randn(count, 1, 4, 4, generator=generator(0, label))
    return Samples(means[y] + spread * noise, y)


def users(spread: float = 0.8, count: int = EACH) -> list[UserData]:
    return [
        UserData(i, clouds(f"user {i}", spread, count), clouds(f"test {i}", spread, 6)) for i in (1, 2, 3)
    ]


def test_more_epochs_than_are_found_bring_no_more_than_an_error() -> None:
    found = find_plateau(SPEC, users())
    reached = {int(epochs): accuracy for epochs, accuracy in found.accuracies.items()}
    assert found.held_out == 3 * 12
    assert list(reached) == [2**k for k in range(len(reached))]
    assert max(reached) == 4 * found.epochs
    for more in (2 * found.epochs, 4 * found.epochs):
        assert plateau.is_level(reached, found.epochs, more, found.held_out, 1 / CLASSES)


@pytest.mark.parametrize(
    ("reached", "level"),
    [
        ({1: 0.80, 2: 0.83}, True),  # 0.83 has an error of 0.038 among 100 samples
        ({1: 0.80, 2: 0.85}, False),
        ({1: 0.85, 2: 0.80}, True),
        ({1: 0.11, 2: 0.12}, False),  # has not begun to learn
        ({1: 1.00, 2: 1.00}, True),
    ],
)
def test_level_is_what_chance_could_bring(reached: dict[int, float], level: bool) -> None:
    assert plateau.is_level(reached, 1, 2, 100, chance=0.1) is level


@pytest.mark.parametrize(
    ("accuracies", "epochs"),
    [
        ((0.80, 0.81), None),
        ((0.80, 0.81, 0.82), 1),
        ((0.20, 0.21, 0.40, 0.80, 0.81, 0.82), 8),  # rests, then rises
        ((0.10, 0.20, 0.30, 0.40, 0.50, 0.80, 0.81), 32),  # no more than 64 are tried
        ((0.10, 0.20, 0.30, 0.40, 0.50, 0.60, 0.80), None),
    ],
)
def test_the_first_epochs_that_suffice(accuracies: tuple[float, ...], epochs: int | None) -> None:
    found = {2**k: accuracy for k, accuracy in enumerate(accuracies)}
    assert plateau.level_of(found, 100, chance=0.1) == epochs


@pytest.mark.slow
def test_it_follows_from_the_seed_and_never_from_test_samples() -> None:
    first = find_plateau(SPEC, users())
    blind = [replace(user, test=Samples(user.test.x * float("nan"), user.test.y)) for user in users()]
    assert find_plateau(SPEC, blind) == first
    assert find_plateau(replace(SPEC, seed=1), users()).accuracies != first.accuracies


def test_it_ends_at_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plateau, "MOST_EPOCHS", 2)
    noise = find_plateau(SPEC, users(spread=50.0))  # nothing to learn
    assert (noise.epochs, list(noise.accuracies)) == (2, ["1", "2"])


def test_users_without_samples_to_hold_out_are_refused() -> None:
    with pytest.raises(LearningError, match="user 1 has 1 training samples, too few to hold one out"):
        find_plateau(SPEC, users(count=1))
