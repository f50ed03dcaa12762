# SPDX-License-Identifier: Apache-2.0
"""References chosen again: bit for bit those of a federation that never had the forgotten data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache

import pytest
import torch

from blockful_py.errors import SettingsError, UnlearningError
from blockful_py.forget import Forget, Level
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.learning import federation
from blockful_py.learning.data import Samples, UserData
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.evaluation import accuracy
from blockful_py.learning.federation import FederationSpec, TrainedModel, train_federation
from blockful_py.learning.forget_sets import retained_after, scored_after
from blockful_py.learning.models import Architecture
from blockful_py.learning.partitions import Division, partition
from blockful_py.learning.streams import generator
from blockful_py.learning.together import TrainingJob, fit_together
from blockful_py.learning.training import Fitted
from blockful_py.learning.weights import Weights, equal
from blockful_py.settings import FederationSettings, TrainingSettings
from blockful_py.types import References
from blockful_py.unlearning.audit.exactness import is_exact
from blockful_py.unlearning.registry import create_method
from blockful_py.unlearning.task import UnlearningTask
from tests.unlearning.conftest import UnlearningCase

AGAIN = "chosen again"
SCENARIO = FederationSettings(
    "organic", "all_hold", users=5, rounds=2, candidates=4, references=2, candidate_window=6, wave=2
)
DIGITS = load_dataset("digits", 0, torch.device("cpu"))


def spec(scenario: FederationSettings) -> FederationSpec:
    phi = TrainingSettings(epochs=2)
    shape = Architecture("cnn", DIGITS.input_shape, DIGITS.class_count)
    return FederationSpec(shape, scenario, phi, root_factor=1, starting_users=(2,), fitter=fit_or_leave)


def fit_or_leave(architecture: Architecture, jobs: Sequence[TrainingJob]) -> tuple[Fitted, ...]:
    """As `fit_together`; a model whose owner has no samples stays as it begins."""
    able = [job for job in jobs if len(job.samples)]
    fitted = iter(fit_together(architecture, able))
    return tuple(next(fitted) if len(job.samples) else Fitted(job.weights, None) for job in jobs)


def users_of(scenario: FederationSettings, seed: int) -> tuple[UserData, ...]:
    return partition(DIGITS, Division(scenario, (2,), (3,)), seed)


def trained(settings: FederationSpec, users: Sequence[UserData]) -> dict[str, TrainedModel]:
    return {model.name: model for wave in train_federation(settings, users) for model in wave}


def without(users: Iterable[UserData], forget: Forget) -> tuple[UserData, ...]:
    return tuple(
        replace(user, train=retained_after(user, [forget]), test=scored_after(user, [forget]))
        for user in users
    )


@pytest.fixture
def as_a_request_trains(monkeypatch: pytest.MonkeyPatch) -> None:
    """`train_federation` with the streams of clean trainings, and without accuracies on no samples."""

    def drawn(seed: int, purpose: str, *rest: int) -> torch.Generator:
        return generator(seed, "clean" if purpose == "train" else purpose, *rest)

    def measured(architecture: Architecture, weights: Weights, samples: Samples) -> float:
        return accuracy(architecture, weights, samples) if len(samples) else 0.0

    monkeypatch.setattr(federation, "generator", drawn)
    monkeypatch.setattr(federation, "accuracy", measured)


REQUESTS = [
    Forget.of_classes([3]),
    Forget.of_clients([2]),
    Forget.of_samples((2, row) for row in range(40)),
]


@pytest.mark.parametrize("forget", REQUESTS, ids=lambda forget: forget.level)
@pytest.mark.parametrize("situation", ["all_hold", "few_hold"])
@pytest.mark.usefixtures("as_a_request_trains")
def test_the_models_are_those_of_a_federation_without_the_data(situation: str, forget: Forget) -> None:
    """Models that the request does not reach are given: that federation takes them as published."""
    scenario = replace(SCENARIO, situation=situation)
    settings, users = spec(scenario), users_of(scenario, 0)
    models = trained(settings, users)
    starts = [*models] if forget.level is Level.CLASS and situation == "all_hold" else ["r2", "r7"]
    task = UnlearningTask.of(settings, models.values(), users, starts, forget)
    outcome = create_method("retrain_ahead", references=AGAIN).unlearn(task)
    reached = set(task.reached())
    given = [model for model in models.values() if model.name not in reached]
    never = {
        model.name: model
        for wave in train_federation(settings, without(users, forget), given)
        for model in wave
    }
    assert never.keys() == reached == set(task.affected())
    for name, model in never.items():
        assert outcome.references[name] == model.references
        assert equal(outcome.weights[name], model.weights)
    changed = [name for name in reached if names(models[name]) != names(never[name])]
    kept = create_method("retrain_ahead").unlearn(task)
    other = [name for name in reached if not equal(kept.weights[name], never[name].weights)]
    assert set(changed) <= set(other) and bool(changed) == bool(other)


@pytest.mark.usefixtures("as_a_request_trains")
def test_a_late_start_gets_the_same_models_as_if_all_had_chosen_again() -> None:
    """Ancestors that know the class choose again too, although the request does not replace them."""
    settings, users, forget = spec(SCENARIO), users_of(SCENARIO, 0), Forget.of_classes([3])
    models = trained(settings, users)
    task = UnlearningTask.of(settings, models.values(), users, ["r5"], forget)
    outcome = create_method("retrain_ahead", references=AGAIN).unlearn(task)
    never = trained(settings, without(users, forget))
    assert len(outcome.weights) < len(never)
    for name, weights in outcome.weights.items():
        assert equal(weights, never[name].weights)
        assert outcome.references[name] == never[name].references


def names(model: TrainedModel) -> list[str]:
    return sorted(each.name for each in model.references)


def request(forget: Forget, starts: Sequence[str]) -> UnlearningTask:
    settings = replace(spec(SCENARIO), fitter=fit_together)
    users, models = everybody()
    return UnlearningTask.of(settings, models.values(), users, starts, forget)


@cache
def everybody() -> tuple[tuple[UserData, ...], dict[str, TrainedModel]]:
    """The users' data, and the models that they have trained."""
    users = users_of(SCENARIO, 0)
    return users, trained(replace(spec(SCENARIO), fitter=fit_together), users)


@pytest.mark.parametrize("method", ["retrain", "retrain_ahead", "clean_line"])
@pytest.mark.parametrize("forget", REQUESTS, ids=lambda forget: forget.level)
def test_no_bit_depends_on_the_references_that_the_forgotten_data_chose(forget: Forget, method: str) -> None:
    starts = [f"r{number}" for number in range(1, 11)] if forget.level is Level.CLASS else ["r2", "r7"]
    task = request(forget, starts)
    again = References.CHOSEN_AGAIN
    assert is_exact(task, create_method(method, references=AGAIN), draws=1, references=again)
    assert not is_exact(task, create_method(method), draws=1, references=again)


@pytest.mark.parametrize("method", ["retrain_ahead", "clean_line"])
def test_ancestors_that_know_the_class_choose_again_too(method: str) -> None:
    task = request(Forget.of_classes([3]), ["r5"])
    assert set(task.reached()) > set(task.affected())
    again = References.CHOSEN_AGAIN
    assert is_exact(task, create_method(method, references=AGAIN), draws=1, references=again)
    assert not is_exact(task, create_method("retrain", references=AGAIN), draws=1, references=again)


def test_a_graph_that_nobody_chose_is_not_chosen_again(tiny: UnlearningCase) -> None:
    with pytest.raises(UnlearningError, match=r"only where eq\. 1 chose them"):
        create_method("retrain", references=AGAIN).unlearn(tiny.task)


@pytest.mark.parametrize("name", ["gradient_ascent", "fine_tune", "clean_increments"])
def test_a_method_that_does_not_retrain_has_no_references_to_choose(name: str) -> None:
    with pytest.raises(SettingsError, match="no such settings: references"):
        create_method(name, references=AGAIN)


def test_there_are_two_ways() -> None:
    with pytest.raises(SettingsError, match="references must be kept or chosen again, not 'some'"):
        create_method("retrain", references="some")


def test_models_out_of_order_are_refused() -> None:
    task = request(Forget.of_classes([3]), ["r5"])
    backwards: dict[str, tuple[str, ...]] = dict.fromkeys(reversed(task.graph.names), ())
    shuffled = replace(task, graph=InheritanceGraph.from_references(backwards))
    with pytest.raises(UnlearningError, match="in the order in which they were published"):
        create_method("retrain", references=AGAIN).unlearn(shuffled)
