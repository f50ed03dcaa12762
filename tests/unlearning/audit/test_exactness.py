# SPDX-License-Identifier: Apache-2.0
"""Whether results depend on forgotten samples, on a federation of four."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from blockful_py.errors import LearningError
from blockful_py.forget import Forget
from blockful_py.learning.weights import Weights, equal
from blockful_py.unlearning.audit.exactness import is_exact, with_others
from blockful_py.unlearning.registry import METHODS, create_method
from blockful_py.unlearning.task import UnlearningTask
from tests.unlearning.conftest import UnlearningCase

EXACT = {"clean_line", "retrain_ahead"}
"""Methods into which nothing enters that the forgotten samples have reached."""


def is_exact_with(name: str, task: UnlearningTask) -> bool:
    method = create_method(name)
    return is_exact(task, lambda each: dict(method.unlearn(each).weights))


@pytest.mark.parametrize("name", sorted(METHODS))
def test_where_an_ancestor_holds_the_class(tiny: UnlearningCase, name: str) -> None:
    assert is_exact_with(name, tiny.task) == (name in EXACT)


@pytest.mark.parametrize("name", ["clean_line", "gradient_ascent", "retrain", "retrain_ahead"])
def test_where_the_request_names_the_first_model_that_met_the_class(tiny: UnlearningCase, name: str) -> None:
    """Retraining is exact there; passing takes what models know by their own samples along."""
    task = replace(tiny.task, starts=("a",), proxy=None)
    assert is_exact_with(name, task) == (name != "gradient_ascent")


@pytest.mark.parametrize("forget", [Forget.of_clients([1]), Forget.of_samples([(1, 0), (1, 5)])])
def test_at_the_other_levels(tiny: UnlearningCase, forget: Forget) -> None:
    task = replace(tiny.task, starts=("a",), forget=forget, proxy=None)
    assert is_exact_with("retrain", task) and is_exact_with("clean_line", task)
    assert not is_exact_with("fine_tune", task)


def test_only_what_is_forgotten_or_was_reached_becomes_other(tiny: UnlearningCase) -> None:
    task = replace(tiny.task, starts=("c",), forget=Forget.of_samples([(3, 0)]), proxy=None)
    others = with_others(task)
    assert [name for name in task.models if not same(task, others, name)] == ["c", "d"]
    for index, user in task.users.items():
        changed = (user.train.x != others.users[index].train.x).flatten(1).any(1).nonzero().flatten().tolist()
        assert changed == ([0] if index == 3 else [])
        assert (user.train.y == others.users[index].train.y).all()


def test_weights_that_are_not_finite_are_not_exact(tiny: UnlearningCase) -> None:
    def unlearn(task: UnlearningTask) -> Mapping[str, Weights]:
        if task is tiny.task:
            return {}
        raise LearningError("not finite")

    assert not is_exact(tiny.task, unlearn)


def same(task: UnlearningTask, other: UnlearningTask, name: str) -> bool:
    return equal(task.models[name].weights, other.models[name].weights)
