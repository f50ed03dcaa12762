# SPDX-License-Identifier: Apache-2.0
"""A trainer of the participants' own takes the place of SGD on samples that are here."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType

import pytest
import torch

from blockful_py.errors import LearningError, SettingsError, UnlearningError
from blockful_py.forget import Forget
from blockful_py.learning.federation import TrainedModel, initial_weights, train_federation
from blockful_py.learning.trainer import Assignment
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.learning.weights import Weights, aggregate, equal
from blockful_py.settings import Settings
from blockful_py.unlearning.registry import METHODS, create_method
from blockful_py.unlearning.task import UnlearningTask
from tests.federations import GRAPH

BY_TRAINER = {
    "federation": {"scenario": "scripted", "users": 7, "graph": GRAPH},
    "learning": {"trainer": "own_trainer:trainer"},
    "unlearning": {"starts": ["s", "t"]},
}


class Adding:
    """Adds the number of the user to every weight, and records its calls."""

    def __init__(self) -> None:
        self.asked: list[Assignment] = []

    def train(self, assignments: Sequence[Assignment]) -> Sequence[Weights]:
        self.asked += assignments
        return [{name: w + each.user for name, w in each.start.items()} for each in assignments]


class Returning:
    """Applies a function to the given weights and returns its result."""

    def __init__(self, change: object) -> None:
        self.change = change

    def train(self, assignments: Sequence[Assignment]) -> Sequence[Weights]:
        return [{name: self.change(w) for name, w in each.start.items()} for each in assignments]


def named(monkeypatch: pytest.MonkeyPatch, trainer: object) -> TrainingSetup:
    """The setup of settings that name the trainer."""
    module = ModuleType("own_trainer")
    module.trainer = trainer
    monkeypatch.setitem(sys.modules, "own_trainer", module)
    return TrainingSetup.of(Settings.parse(BY_TRAINER))


def trained(setup: TrainingSetup) -> dict[str, TrainedModel]:
    waves = train_federation(setup.federation, setup.users)
    return {model.name: model for wave in waves for model in wave}


def request(setup: TrainingSetup, models: dict[str, TrainedModel], forget: Forget) -> UnlearningTask:
    return UnlearningTask.of(setup.federation, models.values(), setup.users, ["s"], forget)


def test_it_trains_every_model_from_the_mean_of_its_references(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = Adding()
    setup = named(monkeypatch, trainer)
    models = trained(setup)
    assert [(each.name, each.user, each.round) for each in trainer.asked] == [
        (model.name, model.user, 1) for model in models.values()
    ]
    assert all(len(user.train) == 0 for user in setup.users)
    start = aggregate([models["a"].weights, models["s"].weights])
    expected = {name: weights + models["x"].user for name, weights in start.items()}
    assert equal(models["x"].weights, expected)
    assert equal(trainer.asked[0].start, initial_weights(setup.federation))
    assert models["x"].training.trainer == "own_trainer:trainer"
    assert models["x"].curve is None


@pytest.mark.parametrize("method", ["retrain", "retrain_ahead"])
def test_a_forgotten_client_is_asked_for_nothing(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    trainer = Adding()
    setup = named(monkeypatch, trainer)
    models = trained(setup)
    trainer.asked.clear()
    gone = models["s"].user
    new = create_method(method).unlearn(request(setup, models, Forget.of_clients([gone]))).weights
    assert sorted(each.name for each in trainer.asked) == ["x", "y"]
    assert list(new) == ["s", "x", "y"]
    assert equal(new["s"], models["a"].weights), "the model of the client is what it started from"
    start = aggregate([models["a"].weights, new["s"]])
    assert equal(new["x"], {name: weights + models["x"].user for name, weights in start.items()})


@pytest.mark.parametrize("forget", [Forget.of_classes([3]), Forget.of_samples([(3, 0)])])
def test_less_than_a_client_cannot_be_forgotten(monkeypatch: pytest.MonkeyPatch, forget: Forget) -> None:
    setup = named(monkeypatch, Adding())
    models = trained(setup)
    with pytest.raises(UnlearningError, match=r"cannot leave out (class 3|sample 3:0): ask at level client"):
        request(setup, models, forget)


def test_passing_starts_from_the_aggregate_of_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """x references a and s: half of the change of s reaches it (paper, eq. 7)."""
    setup = named(monkeypatch, Adding())
    models = trained(setup)
    gone = Forget.of_clients([models["s"].user])
    new = create_method("gradient_ascent").unlearn(request(setup, models, gone)).weights
    assert equal(new["s"], models["a"].weights)
    for name, weights in new["x"].items():
        change = (new["s"][name] - models["s"].weights[name]) / 2
        assert torch.allclose(weights, models["x"].weights[name] + change, atol=1e-5)


WITHOUT_SAMPLES = {"retrain", "retrain_ahead", "gradient_ascent"}


@pytest.mark.parametrize("method", sorted(METHODS.keys() - WITHOUT_SAMPLES))
def test_a_method_that_computes_on_samples_is_refused(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    setup = named(monkeypatch, Adding())
    models = trained(setup)
    task = request(setup, models, Forget.of_clients([models["s"].user]))
    with pytest.raises(UnlearningError):
        create_method(method).unlearn(task)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda weights: weights.flatten(), "the start of a' and 'a' have different architectures"),
        (lambda weights: weights.double(), "the start of a' and 'a' have different architectures"),
        (lambda weights: weights * torch.nan, "model a has NaN or infinite values"),
        (
            lambda weights: weights.numpy() / None,
            r"learning\.trainer failed \(TypeError\): unsupported operand",
        ),
    ],
    ids=["shape", "dtype", "nan", "raises"],
)
def test_unusable_weights_are_refused(monkeypatch: pytest.MonkeyPatch, change: object, message: str) -> None:
    with pytest.raises(LearningError, match=message):
        trained(named(monkeypatch, Returning(change)))


def test_an_object_that_trains_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="of type object, which has no method train"):
        named(monkeypatch, object())


def test_a_trainer_that_is_not_there_is_named() -> None:
    settings = Settings.parse({**BY_TRAINER, "learning": {"trainer": "nowhere:trainer"}})
    with pytest.raises(SettingsError, match="trainer 'nowhere:trainer' cannot be imported"):
        TrainingSetup.of(settings)


@pytest.mark.parametrize("other", [{"increments": "all"}, {"privacy": {"noise": 1.0}}])
def test_settings_that_need_the_samples_are_refused(other: dict[str, object]) -> None:
    learning = {"trainer": "own_trainer:trainer", **other}
    with pytest.raises(SettingsError, match="trains on data that is not here"):
        Settings.parse({**BY_TRAINER, "learning": learning})
