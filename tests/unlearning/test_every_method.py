# SPDX-License-Identifier: Apache-2.0
"""Invariants of every method for networks, on a federation of four."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from statistics import mean
from typing import Any

import pytest
import torch
from torch import Tensor

from blockful_py.errors import UnlearningError
from blockful_py.forget import Forget, Level
from blockful_py.learning import together
from blockful_py.learning.models.cnn import Cnn
from blockful_py.learning.weights import Weights, equal, require_finite
from blockful_py.types import Paradigm
from blockful_py.unlearning.audit import audit_accuracy
from blockful_py.unlearning.method import Need, Outcome, Review
from blockful_py.unlearning.registry import FOR_ADOPTED, FOR_SUMS, METHODS, create_method
from tests.unlearning.conftest import UnlearningCase

NAMES = sorted(METHODS.keys() - FOR_SUMS - FOR_ADOPTED)

FORGETS = dict.fromkeys(NAMES, 0.05) | {"fine_tune": 0.5, "scrub": 0.5, "ssd": 0.8}
"""Largest mean AD_f on held-out data; the class is known to more than 0.9 before.  The last three leave
the features, or most weights, as they are."""

KEEPS = dict.fromkeys(NAMES, 0.05) | {"fiun": 0.15, "clean_line": 0.65}
"""Largest mean loss of AD_r on held-out data.  A line starts anew, and a tenth of five epochs teaches it
little."""

DRAWS_NOTHING = {"head_mask", "fiun", "ssd"}
"""Methods without random numbers."""


@pytest.fixture(scope="module")
def outcomes(tiny: UnlearningCase) -> dict[str, Outcome]:
    return {name: create_method(name).unlearn(tiny.task) for name in NAMES}


def accuracies(case: UnlearningCase, weights: dict[str, Weights]) -> tuple[float, float]:
    """Mean AD_f and AD_r on held-out data."""
    test = case.dataset.test
    rows = audit_accuracy(case.task.architecture, weights, test, test, (3,)).values()
    return mean(row.test.ad_f for row in rows), mean(row.test.ad_r for row in rows)


@pytest.mark.parametrize("name", NAMES)
def test_it_forgets_and_keeps_what_it_should(
    tiny: UnlearningCase, outcomes: dict[str, Outcome], name: str
) -> None:
    known, good = accuracies(tiny, tiny.task.weights(tiny.task.affected()))
    assert known > 0.9
    ad_f, ad_r = accuracies(tiny, dict(outcomes[name].weights))
    assert ad_f <= FORGETS[name]
    assert ad_r >= good - KEEPS[name]


@pytest.mark.parametrize("name", NAMES)
def test_it_changes_the_affected_models_and_nothing_else(
    tiny: UnlearningCase, outcomes: dict[str, Outcome], name: str
) -> None:
    assert tuple(outcomes[name].weights) == ("b", "c", "d")
    for model, weights in outcomes[name].weights.items():
        require_finite(weights, model)
        assert not equal(weights, tiny.task.models[model].weights)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_bits(
    tiny: UnlearningCase, outcomes: dict[str, Outcome], name: str
) -> None:
    steps = list(create_method(name).steps(tiny.task))
    assert (steps[-1].cost, steps[-1].increments) == (outcomes[name].cost, outcomes[name].increments)
    again = {step.name: step.weights for step in steps}
    assert again.keys() == outcomes[name].weights.keys()
    assert all(equal(again[model], outcomes[name].weights[model]) for model in again)
    other = create_method(name).unlearn(replace(tiny.task, seed=1)).weights
    assert equal(other["d"], again["d"]) == (name in DRAWS_NOTHING)


@dataclass
class Traffic:
    trained: int = 0
    seen: int = 0


@contextmanager
def traffic(monkeypatch: pytest.MonkeyPatch) -> Iterator[Traffic]:
    """Counts every sample that passes through a network.

    Models train one by one, because a stack fills up its last batches.
    """
    counted, forward = Traffic(), Cnn.forward

    def counting(self: Cnn, x: Tensor) -> Tensor:
        if torch.is_grad_enabled():
            counted.trained += len(x)
        else:
            counted.seen += len(x)
        return forward(self, x)

    with monkeypatch.context() as patch:
        patch.setattr(Cnn, "forward", counting)
        patch.setattr(together, "stacks_well", lambda architecture, device: False)
        yield counted


@pytest.mark.parametrize("name", NAMES)
def test_the_cost_is_what_went_through_the_networks(
    tiny: UnlearningCase, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    with traffic(monkeypatch) as counted:
        cost = create_method(name).unlearn(tiny.task).cost
    assert cost.passes + cost.prepared == pytest.approx(counted.trained + counted.seen / 3)
    assert cost.critical_path <= cost.passes


def test_retraining_waits_and_fine_tuning_does_not(
    tiny: UnlearningCase, outcomes: dict[str, Outcome]
) -> None:
    chain, apart = outcomes["retrain"].cost, outcomes["fine_tune"].cost
    assert chain.critical_path == chain.passes  # b -> c -> d
    assert apart.critical_path < apart.passes / 2


CASES: dict[Level, Forget] = {
    Level.CLIENT: Forget.of_clients([2]),
    Level.SAMPLE: Forget.of_samples((2, row) for row in range(20)),
}


@pytest.mark.parametrize("level", CASES)
@pytest.mark.parametrize("name", NAMES)
def test_it_works_at_the_levels_that_it_names_and_refuses_the_others(
    tiny: UnlearningCase, name: str, level: Level
) -> None:
    method, task = create_method(name), replace(tiny.task, forget=CASES[level])
    if level not in method.levels:
        with pytest.raises(UnlearningError, match=f"{name}.*not at level {level}"):
            method.unlearn(task)
        return
    weights = method.unlearn(task).weights
    assert set(weights) == {"b", "c", "d"}
    _, ad_r = accuracies(tiny, dict(weights))
    assert ad_r > 0.5


def test_several_classes_and_several_starts_go_together(tiny: UnlearningCase) -> None:
    task = replace(tiny.task, forget=Forget.of_classes([1, 3]), starts=("b", "c"), proxy=None)
    for name in NAMES:
        if Need.PROXY_DATA not in create_method(name).needs:
            assert set(create_method(name).unlearn(task).weights) == {"b", "c", "d"}


def test_methods_say_how_they_are_checked() -> None:
    found: dict[str, Any] = {name: create_method(name) for name in NAMES}
    assert {name for name, method in found.items() if method.review is Review.RECOMPUTED} == {
        "gradient_ascent"
    }
    assert {name for name, method in found.items() if method.review is Review.NONE} == {"head_mask"}
    assert {name for name, method in found.items() if Paradigm.PARALLEL not in method.paradigms} == {
        "retrain",
        "distill",
    }
