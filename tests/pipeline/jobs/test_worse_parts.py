# SPDX-License-Identifier: Apache-2.0
"""An owner whose retrained model does worse than before trains it again, with other seeds."""

from __future__ import annotations

import logging
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from blockful_py.forget import Forget
from blockful_py.learning.federation import train_federation
from blockful_py.learning.streams import generator
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.learning.weights import Weights, equal
from blockful_py.pipeline.jobs.parts import ATTEMPTS, OwnParts
from blockful_py.settings import Settings
from blockful_py.unlearning.method import Method
from blockful_py.unlearning.task import UnlearningTask

NODE: Any = SimpleNamespace(name="r1", is_withdrawn=False, removed_beside=lambda classes: ())
REQUEST: Any = SimpleNamespace(classes=(3,), method="retrain {}")


class Trained:
    """A method whose weights depend on the seed alone."""

    name = "retrain"

    def __init__(self, seeds: list[Weights], first: int) -> None:
        self.asked: list[int] = []
        self._seeds = seeds
        self._first = first

    def unlearn(self, task: UnlearningTask) -> Any:
        self.asked.append(task.seed)
        return SimpleNamespace(weights={"r1": self._seeds[task.seed - self._first]}, increments=None)


@pytest.fixture(scope="module")
def setup() -> TrainingSetup:
    return TrainingSetup.of(Settings.parse({"learning": {"epochs": 8}}))


@pytest.fixture(scope="module")
def task(setup: TrainingSetup) -> UnlearningTask:
    models = [model for wave in train_federation(setup.federation, setup.users) for model in wave]
    return UnlearningTask.of(setup.federation, models, setup.users, ["r1"], Forget.of_classes([3]))


def taken(setup: TrainingSetup, task: UnlearningTask, seeds: list[Weights]) -> tuple[Weights, list[int]]:
    parts, method = OwnParts.__new__(OwnParts), Trained(seeds, task.seed)
    parts._context = cast(Any, SimpleNamespace(setup=setup))
    return parts._unlearned(task, cast(Method, method), NODE, REQUEST), method.asked


def test_the_first_training_that_is_no_loss_is_taken(
    setup: TrainingSetup, task: UnlearningTask, caplog: pytest.LogCaptureFixture
) -> None:
    lost, good = setup.architecture.initial(generator(0)), task.models["r1"].weights
    with caplog.at_level(logging.WARNING):
        weights, asked = taken(setup, task, [lost, good])
    assert equal(weights, good)
    assert asked == [task.seed, task.seed + 1]
    assert "r1 knows less of what it is to keep" in caplog.text
    assert taken(setup, task, [good])[1] == [task.seed]


def test_the_best_of_all_is_taken_where_all_are_a_loss(setup: TrainingSetup, task: UnlearningTask) -> None:
    lost = setup.architecture.initial(generator(0))
    better = {
        name: lost[name] + 0.6 * (each - lost[name]) for name, each in task.models["r1"].weights.items()
    }
    weights, asked = taken(setup, task, [lost, better, lost])
    assert equal(weights, better)
    assert len(asked) == ATTEMPTS


def test_a_training_that_members_check_is_not_repeated(setup: TrainingSetup, task: UnlearningTask) -> None:
    lost = setup.architecture.initial(generator(0))
    checked = replace(task, fitter=lambda *jobs: [])
    assert taken(setup, checked, [lost])[1] == [task.seed]
