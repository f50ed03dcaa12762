# SPDX-License-Identifier: Apache-2.0
"""Increments stored at publication, and their use by a request."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from blockful_py.errors import LearningError
from blockful_py.forget import Forget
from blockful_py.learning.federation import FederationSpec, TrainedModel
from blockful_py.learning.weights import equal
from blockful_py.settings import PrivacySettings, TrainingSettings
from blockful_py.unlearning.clean_increments import CleanIncrements
from blockful_py.unlearning.stored_increments import StoredIncrement, store_increments
from blockful_py.unlearning.task import UnlearningTask
from tests.unlearning.conftest import UnlearningCase


@pytest.fixture(scope="module")
def stored(tiny: UnlearningCase, settings: FederationSpec) -> dict[str, StoredIncrement]:
    task = tiny.task
    return store_increments(settings, task.models.values(), task.users.values(), [3])[3]


def made(task: UnlearningTask) -> tuple[str, ...]:
    """Models whose increments a request made itself."""
    used = CleanIncrements(heal_steps=0).unlearn(task).increments
    assert used is not None
    assert set(used.stored) | set(used.made) == {"b", "c", "d"}
    return used.made


def test_stored_and_fresh_increments_give_the_same_bits(
    tiny: UnlearningCase, stored: dict[str, StoredIncrement]
) -> None:
    fresh = CleanIncrements().unlearn(tiny.task)
    kept = CleanIncrements().unlearn(replace(tiny.task, stored=stored))
    assert kept.weights.keys() == fresh.weights.keys()
    assert all(equal(kept.weights[name], fresh.weights[name]) for name in fresh.weights)


def test_a_request_makes_only_what_is_not_stored(
    tiny: UnlearningCase, stored: dict[str, StoredIncrement]
) -> None:
    fresh, kept = (CleanIncrements().unlearn(replace(tiny.task, stored=each)).cost for each in ({}, stored))
    assert fresh.prepared == 0 < kept.prepared
    assert 0 < kept.passes / 3 <= kept.critical_path < kept.passes  # of healing b, c and d
    assert fresh.passes == pytest.approx(kept.passes + kept.prepared)
    partly = replace(tiny.task, stored={"b": stored["b"], "d": stored["d"]})
    assert made(partly) == ("c",)
    weights, whole = CleanIncrements().unlearn(partly).weights, CleanIncrements().unlearn(tiny.task).weights
    assert all(equal(weights[name], whole[name]) for name in whole)


def test_increments_of_another_request_are_passed_over(
    tiny: UnlearningCase, settings: FederationSpec, stored: dict[str, StoredIncrement]
) -> None:
    models, users = tiny.task.models.values(), tiny.task.users.values()
    other = store_increments(settings, models, users, [4])[4]
    assert made(replace(tiny.task, stored=other)) == ("b", "c", "d")
    both = replace(tiny.task, stored=stored, forget=Forget.of_classes([3, 4]), proxy=None)
    assert made(both) == ("b", "c", "d")
    earlier = {"c": (Forget.of_classes([4]),)}
    assert made(replace(tiny.task, stored=stored, earlier=earlier)) == ("c",)
    assert made(replace(tiny.task, stored=stored)) == ()


def test_an_increment_goes_with_its_model_and_the_references_of_it(
    tiny: UnlearningCase, stored: dict[str, StoredIncrement]
) -> None:
    """c inherits from a and b, d from b and c: with another b, none of them stays the same."""
    models = dict(tiny.task.models)
    models["b"] = replace(models["b"], weights=models["a"].weights)
    assert made(replace(tiny.task, models=models, stored=stored)) == ("b", "c", "d")
    models = dict(tiny.task.models)
    models["c"] = replace(models["c"], weights=models["a"].weights)
    assert made(replace(tiny.task, models=models, stored=stored)) == ("c", "d")


def test_only_holders_of_the_class_store_any(tiny: UnlearningCase, settings: FederationSpec) -> None:
    models = tiny.task.models.values()
    users = dict(tiny.task.users)
    users[3] = replace(users[3], train=users[3].train.without([3]))
    users[4] = replace(users[4], train=users[4].train.only([3]))  # nothing would be left to train on
    found = store_increments(settings, models, users.values(), [3])
    assert found.keys() == {3}
    assert found[3].keys() == {"a", "b"}
    assert store_increments(settings, models, users.values(), []) == {}


def test_a_wave_of_its_own_gives_the_same_bits(
    tiny: UnlearningCase, settings: FederationSpec, stored: dict[str, StoredIncrement]
) -> None:
    models, users = dict(tiny.task.models), tiny.task.users.values()
    alone = store_increments(settings, [models.pop("d")], users, [3], models)[3]["d"]
    assert equal(alone.weights, stored["d"].weights)
    assert alone.base == stored["d"].base
    with pytest.raises(LearningError, match="'d' was trained from b, c: give these models too"):
        store_increments(settings, [tiny.task.models["d"]], users, [3])


def test_of_published_models_only_the_references_are_read(
    tiny: UnlearningCase, settings: FederationSpec
) -> None:
    read: set[str] = set()

    class Reads(dict[str, TrainedModel]):
        def __getitem__(self, name: str) -> TrainedModel:
            read.add(name)
            return super().__getitem__(name)

    models = Reads(tiny.task.models)
    store_increments(settings, [models.pop("d")], tiny.task.users.values(), [3], models)
    assert read == {"b", "c"}


def test_a_clean_model_is_another_one(tiny: UnlearningCase, stored: dict[str, StoredIncrement]) -> None:
    for name, kept in stored.items():
        assert not equal(kept.weights, tiny.task.models[name].weights)
        assert not torch.equal(kept.weights["head.bias"], tiny.task.models[name].weights["head.bias"])


def test_models_trained_with_noise_store_none(tiny: UnlearningCase, settings: FederationSpec) -> None:
    noisy = TrainingSettings(epochs=5, privacy=PrivacySettings(noise=1.0, clip=1.0, delta=1e-5))
    model = replace(tiny.task.models["a"], training=noisy)
    with pytest.raises(LearningError, match="would spend the privacy of its owner's samples once more"):
        store_increments(settings, [model], tiny.task.users.values(), [3])
