# SPDX-License-Identifier: Apache-2.0
"""Models trained from a line that left something out: exactness, budget, and stored files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch

from blockful_py.errors import UnlearningError
from blockful_py.forget import Forget
from blockful_py.learning.data import Samples, UserData
from blockful_py.learning.federation import FederationSpec
from blockful_py.learning.streams import generator
from blockful_py.learning.trainer import Assignment
from blockful_py.learning.weights import Weights, equal
from blockful_py.unlearning.audit import is_exact
from blockful_py.unlearning.clean_line import CleanLine
from blockful_py.unlearning.line import TENTH, line_start, models_on_line, store_line, training_phases
from blockful_py.unlearning.method import Method
from blockful_py.unlearning.retrain_ahead import RetrainAhead
from blockful_py.unlearning.retraining import passes_of
from blockful_py.unlearning.stored_increments import StoredIncrement
from blockful_py.unlearning.task import UnlearningTask
from tests.unlearning.conftest import UnlearningCase

ALL = ("a", "b", "c", "d")


@pytest.fixture(scope="module")
def stored(tiny: UnlearningCase, settings: FederationSpec) -> dict[str, StoredIncrement]:
    return line_without(tiny, settings, Forget.of_classes([3]))


def line_without(
    tiny: UnlearningCase, settings: FederationSpec, forget: Forget
) -> dict[str, StoredIncrement]:
    return store_line(settings, tiny.task.models.values(), tiny.task.users.values(), forget)


def with_other_samples(task: UnlearningTask, label: int) -> UnlearningTask:
    """The task where all samples of the label are others."""

    def other(user: UserData) -> UserData:
        x = user.train.x.clone()
        x[user.train.y == label] = torch.rand(x.shape[1:])
        return replace(user, train=Samples(x, user.train.y))

    return replace(task, users={index: other(user) for index, user in task.users.items()}, proxy=None)


def test_the_forgotten_samples_do_not_touch_a_bit(tiny: UnlearningCase) -> None:
    found, other = (
        CleanLine().unlearn(task).weights for task in (tiny.task, with_other_samples(tiny.task, 3))
    )
    assert all(equal(found[name], other[name]) for name in ("b", "c", "d"))
    kept = CleanLine().unlearn(with_other_samples(tiny.task, 4)).weights
    assert not any(equal(found[name], kept[name]) for name in ("b", "c", "d"))


def test_weights_that_knew_the_class_do_not_touch_a_bit(tiny: UnlearningCase) -> None:
    found = CleanLine().unlearn(tiny.task).weights
    models = {
        name: replace(model, weights={key: tensor + 1 for key, tensor in model.weights.items()})
        for name, model in tiny.task.models.items()
    }
    other = CleanLine().unlearn(replace(tiny.task, models=models)).weights
    assert all(equal(found[name], other[name]) for name in ("b", "c", "d"))


@pytest.mark.parametrize("method", [CleanLine(), RetrainAhead()])
def test_what_models_forgot_before_is_not_taught_again_by_those_that_were_not_asked(
    tiny: UnlearningCase, method: Method
) -> None:
    """Model a stays as it is, and its owner still has class 4, which b, c and d were made to forget."""
    after = replace(tiny.task, earlier=dict.fromkeys("bcd", (Forget.of_classes([4]),)))
    found, other = (method.unlearn(task).weights for task in (after, with_other_samples(after, 4)))
    assert all(equal(found[name], other[name]) for name in ("b", "c", "d"))
    assert is_exact(after, method)


def test_the_line_begins_before_all_that_affected_models_must_not_know(tiny: UnlearningCase) -> None:
    users = {
        index: user if index == 3 else replace(user, train=user.train.without([3]))
        for index, user in tiny.task.users.items()
    }
    task = replace(tiny.task, users=users, starts=("c",), proxy=None)
    assert models_on_line(replace(task, earlier=dict.fromkeys("cd", (Forget.of_classes([4]),)))) == ALL
    assert models_on_line(replace(task, earlier={"a": (Forget.of_classes([4]),)})) == ("c", "d")


def test_models_that_the_class_has_not_reached_begin_the_line(tiny: UnlearningCase) -> None:
    users = {
        index: user if index == 3 else replace(user, train=user.train.without([3]))
        for index, user in tiny.task.users.items()
    }
    task = replace(tiny.task, users=users, starts=("c",), proxy=None)
    assert models_on_line(task) == ("c", "d")
    start = line_start(task, models_on_line(task))
    mean = (task.models["a"].weights["head.bias"] + task.models["b"].weights["head.bias"]) / 2
    assert torch.allclose(start["head.bias"], mean)
    assert models_on_line(tiny.task) == ALL
    assert equal(line_start(tiny.task, ALL), tiny.task.initial)


def test_a_request_takes_a_tenth_of_retraining_and_each_class_its_share(
    tiny: UnlearningCase, stored: dict[str, StoredIncrement]
) -> None:
    cost = CleanLine().unlearn(replace(tiny.task, stored=stored)).cost
    retraining = sum(passes_of(tiny.task, name) for name in ALL)
    assert 0 < cost.passes <= TENTH * retraining
    assert 0 < cost.prepared <= TENTH * retraining


def test_all_classes_together_prepare_retrainings_passes_once(tiny: UnlearningCase) -> None:
    line, on, own = training_phases(tiny.task, ALL)
    assert (line.share, on.share) == pytest.approx((TENTH, TENTH / 2))
    assert own.share > TENTH / 2  # fewer models are affected than the line passes
    twenty = replace(tiny.task.architecture, class_count=20)
    initial = twenty.initial(generator(0, "initial"))
    models = {name: replace(model, weights=initial) for name, model in tiny.task.models.items()}
    phases_of_twenty = training_phases(
        replace(tiny.task, architecture=twenty, initial=initial, models=models, starts=("a",)), ALL
    )
    assert [phase.share for phase in phases_of_twenty] == pytest.approx([TENTH / 2] * 3)


def test_what_is_stored_gives_the_same_bits(tiny: UnlearningCase, stored: dict[str, StoredIncrement]) -> None:
    assert tuple(stored) == ("d",)
    fresh = CleanLine().unlearn(tiny.task)
    kept = CleanLine().unlearn(replace(tiny.task, stored=stored))
    assert fresh.cost.prepared == 0 < kept.cost.prepared
    assert fresh.increments is kept.increments is None  # a line is nobody's increment
    assert fresh.cost.passes == kept.cost.passes + kept.cost.prepared
    assert all(equal(fresh.weights[name], kept.weights[name]) for name in kept.weights)


def test_a_line_of_another_request_or_model_is_passed_over(
    tiny: UnlearningCase, settings: FederationSpec, stored: dict[str, StoredIncrement]
) -> None:
    task = replace(tiny.task, stored=stored)
    other = line_without(tiny, settings, Forget.of_classes([4]))
    changed = {**task.models, "d": replace(task.models["d"], weights=task.models["a"].weights)}
    for unfit in (
        replace(task, stored=other),
        replace(task, forget=Forget.of_classes([3, 4]), proxy=None),
        replace(task, earlier={"b": (Forget.of_classes([4]),)}),
        replace(task, models=changed),
    ):
        assert CleanLine().unlearn(unfit).cost.prepared == 0


@pytest.mark.parametrize("forget", [Forget.of_clients([2]), Forget.of_samples([(2, 0), (2, 5)])])
def test_one_stored_line_serves_a_client_and_samples_of_it(
    tiny: UnlearningCase, settings: FederationSpec, forget: Forget
) -> None:
    """Both with the bits of a request that makes the line itself, and exactly."""
    task = replace(tiny.task, forget=forget, proxy=None)
    stored = line_without(tiny, settings, Forget.of_clients([2]))
    assert stored.keys() == line_without(tiny, settings, forget).keys()
    fresh, kept = (CleanLine().unlearn(replace(task, stored=each)) for each in ({}, stored))
    assert all(equal(fresh.weights[name], kept.weights[name]) for name in kept.weights)
    assert kept.cost.prepared > 0 and kept.cost.passes <= TENTH * sum(passes_of(task, name) for name in ALL)
    assert is_exact(task, CleanLine())
    other = line_without(tiny, settings, Forget.of_clients([3]))
    assert CleanLine().unlearn(replace(task, stored=other)).cost.prepared == 0


def test_a_line_needs_something_to_leave_out(tiny: UnlearningCase, settings: FederationSpec) -> None:
    with pytest.raises(UnlearningError, match="needs starts"):
        line_without(tiny, settings, Forget.of_clients([9]))
    without = [user for index, user in tiny.task.users.items() if index != 2]
    with pytest.raises(UnlearningError, match="the data of user 2"):
        store_line(settings, tiny.task.models.values(), without, Forget.of_classes([3]))


def test_samples_that_stay_are_trained_on_after_the_stored_phase(tiny: UnlearningCase) -> None:
    """It leaves out all of their owner's; the request's own phases only the requested samples."""
    task = replace(tiny.task, forget=Forget.of_samples([(2, 0)]), proxy=None)
    first, second, own = training_phases(task, ALL)
    assert first.samples(task, "b") == 0 < min(second.samples(task, "b"), own.samples(task, "b"))
    leaves = replace(task, forget=Forget.of_clients([2]))
    assert [phase.samples(leaves, "b") for phase in training_phases(leaves, ALL)] == [0, 0, 0]


def test_all_clients_together_prepare_retrainings_passes_once(tiny: UnlearningCase) -> None:
    starts = {1: "a", 2: "b", 3: "c", 4: "d"}
    tasks = [
        replace(tiny.task, starts=(start,), forget=Forget.of_clients([user]), proxy=None)
        for user, start in starts.items()
    ]
    firsts = [(task, models_on_line(task), training_phases(task, models_on_line(task))[0]) for task in tasks]
    assert [first.share for _, _, first in firsts] == [TENTH] * 4
    prepared = sum(first.samples(task, name) for task, names, first in firsts for name in names)
    assert 0 < prepared <= sum(passes_of(replace(tiny.task, starts=("a",)), name) for name in ALL)
    many = dict.fromkeys(range(1, 21), tiny.task.users[1])
    of_twenty = replace(tasks[0], users=many)
    assert training_phases(of_twenty, models_on_line(of_twenty))[0].share == pytest.approx(1 / 20)


def test_a_trainer_that_alone_reaches_the_samples_is_refused(tiny: UnlearningCase) -> None:
    class Elsewhere:
        def train(self, assignments: Sequence[Assignment]) -> Sequence[Weights]:
            raise AssertionError("asked")

    task = replace(tiny.task, forget=Forget.of_clients([2]), trainer=Elsewhere(), proxy=None)
    with pytest.raises(UnlearningError, match=r"only learning\.trainer reaches"):
        CleanLine().unlearn(task)


def test_each_model_takes_a_step_of_its_own(tiny: UnlearningCase) -> None:
    """However few samples its owner keeps: models that are alike in every bit would share a file."""
    users = {
        index: replace(user, train=user.train.at(torch.arange(len(user.train)) % 9 == 0))
        for index, user in tiny.task.users.items()
    }
    assert max(len(user.train) for user in users.values()) < 20
    weights = CleanLine().unlearn(replace(tiny.task, users=users)).weights
    assert not equal(weights["b"], weights["c"]) and not equal(weights["c"], weights["d"])
