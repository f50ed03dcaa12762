# SPDX-License-Identifier: Apache-2.0
"""Clean models stored at publication, and their use by a request."""

from __future__ import annotations

from dataclasses import replace

import pytest

from blockful_py.errors import LearningError, UnlearningError
from blockful_py.forget import Forget
from blockful_py.learning.federation import FederationSpec
from blockful_py.learning.weights import Weights, equal
from blockful_py.settings import PrivacySettings, TrainingSettings
from blockful_py.unlearning.clean_increments import CleanIncrements
from blockful_py.unlearning.method import IncrementsUsed, Outcome
from blockful_py.unlearning.retrain_ahead import RetrainAhead
from blockful_py.unlearning.retraining import passes_of, retrain_wave
from blockful_py.unlearning.stored_increments import (
    CLEAN,
    StoredIncrement,
    store_clean_models,
    store_increments,
)
from blockful_py.unlearning.task import UnlearningTask
from tests.unlearning.conftest import UnlearningCase

ALL = ("a", "b", "c", "d")


@pytest.fixture(scope="module")
def stored(tiny: UnlearningCase, settings: FederationSpec) -> dict[str, StoredIncrement]:
    task = tiny.task
    return store_clean_models(settings, task.models.values(), task.users.values(), [3])[3]


def used(task: UnlearningTask) -> IncrementsUsed:
    found = RetrainAhead().unlearn(task).increments
    assert found is not None
    return found


def test_every_model_is_retrained_from_retrained_references(tiny: UnlearningCase) -> None:
    """Those above the start too, which know the class; no published weights are among the causes."""
    task = tiny.task
    clean: dict[str, Weights] = {}
    for name in ALL:
        clean |= retrain_wave(task, [name], clean, CLEAN)
    outcome = RetrainAhead().unlearn(task)
    assert tuple(outcome.weights) == ("b", "c", "d")
    assert all(equal(outcome.weights[name], clean[name]) for name in outcome.weights)
    assert outcome.increments == IncrementsUsed(stored=(), made=ALL)
    assert outcome.cost.passes == outcome.cost.critical_path == sum(passes_of(task, name) for name in ALL)


def test_what_is_stored_takes_the_place_at_once(
    tiny: UnlearningCase, stored: dict[str, StoredIncrement]
) -> None:
    fresh = RetrainAhead().unlearn(tiny.task)
    kept = RetrainAhead().unlearn(replace(tiny.task, stored=stored))
    assert kept.increments == IncrementsUsed(stored=ALL, made=())
    assert (kept.cost.passes, kept.cost.critical_path, kept.cost.prepared) == (0, 0, fresh.cost.passes)
    for name, weights in kept.weights.items():
        assert equal(weights, fresh.weights[name])
        assert equal(weights, stored[name].weights)


def test_what_is_missing_is_made_from_what_is_stored(
    tiny: UnlearningCase, stored: dict[str, StoredIncrement]
) -> None:
    partly = replace(tiny.task, stored={name: stored[name] for name in "abd"})
    outcome: Outcome = RetrainAhead().unlearn(partly)
    assert outcome.increments == IncrementsUsed(stored=("a", "b", "d"), made=("c",))
    assert outcome.cost.passes == passes_of(partly, "c")
    assert all(equal(weights, stored[name].weights) for name, weights in outcome.weights.items())


def test_a_class_leaves_alone_what_it_has_not_reached(tiny: UnlearningCase, settings: FederationSpec) -> None:
    """Only c holds the class: it and d get clean models, from a and b as they are."""
    users = {
        index: user if index == 3 else replace(user, train=user.train.without([3]))
        for index, user in tiny.task.users.items()
    }
    task = replace(tiny.task, users=users, starts=("c",), proxy=None)
    found = store_clean_models(settings, task.models.values(), users.values(), [3])
    assert {label: tuple(by_model) for label, by_model in found.items()} == {3: ("c", "d")}
    assert used(replace(task, stored=found[3])) == IncrementsUsed(stored=("c", "d"), made=())
    (from_published,) = retrain_wave(task, ["c"], {}, CLEAN).values()
    assert equal(found[3]["c"].weights, from_published)


def test_a_client_that_keeps_nothing_adds_nothing(tiny: UnlearningCase, settings: FederationSpec) -> None:
    users = dict(tiny.task.users)
    users[1] = replace(users[1], train=users[1].train.only([3]))
    found = store_clean_models(settings, tiny.task.models.values(), users.values(), [3])[3]
    assert equal(found["a"].weights, tiny.task.initial)
    assert used(replace(tiny.task, users=users, proxy=None, stored=found)).made == ()


@pytest.mark.parametrize("changed", ALL)
def test_a_clean_model_belongs_to_its_version(
    tiny: UnlearningCase, stored: dict[str, StoredIncrement], changed: str
) -> None:
    """The clean models of its heirs come of its own clean model, which is made with the same bits."""
    other = tiny.task.models["a" if changed != "a" else "b"].weights
    models = {**tiny.task.models, changed: replace(tiny.task.models[changed], weights=other)}
    assert used(replace(tiny.task, models=models, stored=stored)).made == (changed,)


def test_those_of_another_request_or_method_are_passed_over(
    tiny: UnlearningCase, settings: FederationSpec, stored: dict[str, StoredIncrement]
) -> None:
    models, users = tiny.task.models.values(), tiny.task.users.values()
    other = store_clean_models(settings, models, users, [4])[4]
    assert used(replace(tiny.task, stored=other)).made == ALL
    both = replace(tiny.task, stored=stored, forget=Forget.of_classes([3, 4]), proxy=None)
    assert used(both).made == ALL
    increments = store_increments(settings, models, users, [3])[3]
    assert used(replace(tiny.task, stored=increments)).stored == ("a",)  # a root inherits from nobody
    passing = CleanIncrements(heal_steps=0).unlearn(replace(tiny.task, stored=stored)).increments
    assert passing is not None
    assert passing.stored == ()
    earlier = {"d": (Forget.of_classes([4]),)}
    assert used(replace(tiny.task, stored=stored, earlier=earlier)).made == ALL  # a taught d class 4


def test_a_wave_goes_on_from_what_was_stored_before(
    tiny: UnlearningCase, settings: FederationSpec, stored: dict[str, StoredIncrement]
) -> None:
    models, users = dict(tiny.task.models), tiny.task.users.values()
    last = [models.pop("d")]
    clean: dict[int, dict[str, Weights | None]] = {3: {name: stored[name].weights for name in models}}
    alone = store_clean_models(settings, last, users, [3], models, clean)[3]["d"]
    assert equal(alone.weights, stored["d"].weights)
    assert alone.base == stored["d"].base
    clean[3]["b"] = None
    assert store_clean_models(settings, last, users, [3], models, clean) == {3: {}}
    del models["b"], clean[3]["b"]
    with pytest.raises(LearningError, match="'d' was trained from b: give these models too"):
        store_clean_models(settings, last, users, [3], models, clean)


def test_models_trained_with_noise_store_none(tiny: UnlearningCase, settings: FederationSpec) -> None:
    noisy = TrainingSettings(epochs=5, privacy=PrivacySettings(noise=1.0, clip=1.0, delta=1e-5))
    model = replace(tiny.task.models["a"], training=noisy)
    with pytest.raises(LearningError, match="would spend the privacy of its owner's samples once more"):
        store_clean_models(settings, [model], tiny.task.users.values(), [3])


def test_all_ancestors_are_needed(tiny: UnlearningCase) -> None:
    models = {name: model for name, model in tiny.task.models.items() if name != "a"}
    task = replace(tiny.task, starts=("d",), models=models, proxy=None)
    with pytest.raises(UnlearningError, match=r"retraining needs all ancestors of the affected models.*'a'"):
        RetrainAhead().unlearn(task)
