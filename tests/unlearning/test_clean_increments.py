# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from blockful_py.errors import SettingsError, UnlearningError
from blockful_py.forget import Forget
from blockful_py.graph.path_weights import path_weights
from blockful_py.learning.weights import equal, flatten
from blockful_py.unlearning.clean_increments import CleanIncrements
from blockful_py.unlearning.healing import LOOKS
from blockful_py.unlearning.increments import clean_increments, clipped, holders, passed_on
from blockful_py.unlearning.recipe import epochs_of
from blockful_py.unlearning.retraining import aggregate_of
from blockful_py.unlearning.task import UnlearningTask
from tests.unlearning.conftest import UnlearningCase


def changes(task: UnlearningTask, names: str) -> dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """A change of its own for each model."""
    size = len(flatten(task.initial))
    return {name: np.eye(1, size, k)[0] for k, name in enumerate(names)}


def test_the_pass_adds_up_every_path(tiny: UnlearningCase) -> None:
    """P_y is the sum over j != y of C[y, j] d_j, C with one start at a time."""
    made = changes(tiny.task, "abcd")
    passed = passed_on(tiny.task, made)
    for start in "abcd":
        paths = path_weights(tiny.task.graph, [start])
        for name in "abcd":
            expected = paths.row(name)[0] if name in paths.names and name != start else 0.0
            assert passed[name]["abcd".index(start)] == pytest.approx(expected)


def test_long_increments_are_shortened_to_the_limit() -> None:
    made = {"a": np.array([3.0, 4.0]), "b": np.array([0.0, 1.0]), "c": np.array([1.0, 0.0])}
    short = clipped(made, 1.3)
    assert np.allclose(short["a"], [0.78, 1.04])
    assert np.array_equal(short["b"], made["b"])


def test_the_holders_are_those_that_the_affected_inherit_from(tiny: UnlearningCase) -> None:
    assert holders(tiny.task) == ("b", "c", "d")  # a is a root that nobody asks to change
    assert holders(replace(tiny.task, starts=("a",))) == ("a", "b", "c", "d")
    assert holders(replace(tiny.task, forget=Forget.of_clients([2]))) == ("b",)


def test_a_clean_increment_replaces_the_own_training(tiny: UnlearningCase) -> None:
    """Without passing and healing, a model is its owner's training from the published references."""
    plain = CleanIncrements(own=1.0, passed=0.0, heal_steps=0)
    alone = plain.unlearn(replace(tiny.task, forget=Forget.of_clients([2])))
    assert np.allclose(flatten(alone.weights["b"]), flatten(aggregate_of(tiny.task, "b", {})), atol=1e-6)
    assert equal(alone.weights["c"], tiny.task.models["c"].weights)
    assert alone.cost.passes == 0


def test_the_request_takes_the_time_of_one_node(tiny: UnlearningCase) -> None:
    cost = CleanIncrements().unlearn(replace(tiny.task, proxy=None)).cost
    sizes = [len(tiny.task.retained(name)) for name in "bcd"]
    assert cost.critical_path == 5 * max(sizes) + passes_of_healing(max(sizes))


def passes_of_healing(size: int) -> int:
    """A pass over the samples, in whole batches."""
    return math.ceil(size / 32) * 32


def test_a_model_heals_for_a_pass_over_its_samples_at_most(tiny: UnlearningCase) -> None:
    assert tiny.task.proxy is not None
    made = 5 * sum(len(tiny.task.retained(name)) for name in "bcd")
    healing = CleanIncrements().unlearn(tiny.task).cost.passes - made
    looks = 3 * LOOKS * len(tiny.task.proxy) / 3
    assert 0 < healing <= sum(passes_of_healing(len(tiny.task.retained(name))) for name in "bcd") + looks


def test_the_proxy_set_is_read_in_the_classes_that_the_owner_keeps(tiny: UnlearningCase) -> None:
    task = replace(tiny.task, earlier=dict.fromkeys("bcd", (Forget.of_classes([1]),)))
    assert task.proxy is not None and 1 in task.proxy.classes()
    found, without = (
        CleanIncrements().unlearn(each).weights
        for each in (task, replace(task, proxy=task.proxy.without([1])))
    )
    assert all(equal(found[name], without[name]) for name in "bcd")


def test_a_share_of_the_epochs_is_what_an_increment_trains(tiny: UnlearningCase) -> None:
    cost = CleanIncrements(share=0.4, heal_steps=0).unlearn(tiny.task).cost
    assert cost.passes == sum(len(tiny.task.retained(name)) * 2 for name in "bcd")  # of 5 epochs
    shorter = {
        name: replace(model, training=replace(model.training, epochs=2))
        for name, model in tiny.task.models.items()
    }
    in_two = clean_increments(replace(tiny.task, models=shorter), "bcd")
    shared = clean_increments(tiny.task, "bcd", share=0.4)
    assert all(np.array_equal(shared[name], in_two[name]) for name in "bcd")
    assert epochs_of(tiny.task.models["b"], 0.01) == 1


def test_a_silent_head_says_nothing_of_the_class(tiny: UnlearningCase) -> None:
    weights = CleanIncrements(head="silent", heal_steps=0).unlearn(tiny.task).weights["d"]
    assert torch.all(weights["head.weight"][3] == 0)
    assert weights["head.bias"][3] == -5


def test_all_ancestors_must_be_there(tiny: UnlearningCase) -> None:
    task = replace(tiny.task, starts=("d",), models={n: m for n, m in tiny.task.models.items() if n != "a"})
    with pytest.raises(UnlearningError, match=r"need all ancestors of the affected models.*: a is missing"):
        CleanIncrements().unlearn(task)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"own": 1.5}, "own and passed must be from 0 to 1"),
        ({"passed": float("nan")}, "own and passed must be from 0 to 1"),
        ({"share": 0.0}, "share must be above 0 and at most 1"),
        ({"share": 1.01}, "share must be above 0 and at most 1"),
        ({"share": float("nan")}, "share must be above 0 and at most 1"),
        ({"clip": 0.0}, "clip must be positive"),
        ({"heal_steps": -1}, "heal_steps must be at least 0"),
        ({"head": "off"}, "head must be kept or silent"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        CleanIncrements(**settings)  # type: ignore[arg-type]
