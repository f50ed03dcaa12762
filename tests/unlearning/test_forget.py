# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from blockful_py.errors import UnlearningError
from blockful_py.forget import NUMBERED, Forget, Level
from blockful_py.learning.data import Samples, pooled
from blockful_py.learning.federation import FederationSpec
from blockful_py.learning.forget_sets import forget_set, retain_set, retained_after
from blockful_py.settings import FederationSettings, TrainingSettings
from blockful_py.unlearning.proxy import available_proxy, balanced_proxy
from blockful_py.unlearning.retraining import retrain_model
from blockful_py.unlearning.task import UnlearningTask
from tests.unlearning.conftest import UnlearningCase


def test_the_two_sets_of_a_user_are_disjoint_and_complete(few: UnlearningCase) -> None:
    user = few.task.users[5]
    for forget in (Forget.of_classes([3, 8]), Forget.of_clients([5]), Forget.of_samples([(5, 0), (5, 7)])):
        forgotten, retained = forget_set(forget, user), retain_set(forget, user)
        both = pooled([forgotten, retained])
        assert len(both) == len(user.train)
        assert torch.equal(both.x.sum(0), user.train.x.sum(0)) or torch.allclose(
            both.x.sum(0), user.train.x.sum(0), atol=1e-4
        )


def test_each_level_forgets_what_it_names(few: UnlearningCase) -> None:
    user, other = few.task.users[5], few.task.users[6]
    assert forget_set(Forget.of_classes([3]), user).classes() == (3,)
    assert len(retain_set(Forget.of_clients([5]), user)) == 0
    assert len(forget_set(Forget.of_clients([5]), other)) == 0
    chosen = Forget.of_samples([(5, 7), (5, 0)])
    assert torch.equal(forget_set(chosen, user).x, user.train.x[[0, 7]])
    assert len(forget_set(chosen, other)) == 0
    assert [str(f) for f in (Forget.of_classes([8, 3]), Forget.of_clients([5]), chosen)] == [
        "class 3, 8",
        "client 5",
        "sample 5:0, 5:7",
    ]


def test_what_several_requests_leave_is_what_none_of_them_names(few: UnlearningCase) -> None:
    user = few.task.users[5]
    asked = (Forget.of_classes([3]), Forget.of_samples([(5, 0), (5, 7), (6, 1)]))
    named = (user.train.y == 3).index_fill(0, torch.tensor([0, 7]), True)
    kept = retained_after(user, asked)
    assert torch.equal(kept.x, user.train.x[~named])
    assert torch.equal(retained_after(user, asked[:1]).x, retain_set(asked[0], user).x)
    assert len(retained_after(user, (*asked, Forget.of_clients([5])))) == 0


def test_a_model_is_not_trained_again_on_what_it_forgot_before(few: UnlearningCase) -> None:
    before = (Forget.of_classes([8]),)
    task = replace(few.task, earlier={"r5": before})
    assert set(few.task.retained("r5").classes()) - set(task.retained("r5").classes()) == {8}
    assert 8 in task.retained("r7").classes()
    assert torch.equal(task.forgotten("r5").x, few.task.forgotten("r5").x)
    gone = replace(few.task, earlier={"r5": (Forget.of_clients([5]),)})  # its client left, the model stands
    assert len(gone.retained("r5")) == 0


def test_a_request_names_something_of_one_kind() -> None:
    with pytest.raises(UnlearningError, match="at least one class"):
        Forget.of_classes([])
    with pytest.raises(UnlearningError, match="name one kind"):
        Forget(Level.CLASS, classes=(3,), clients=(5,))


def test_numbers_out_of_range_are_named() -> None:
    """By an error of ours, which a request's drafter shows, and not by the form of the request's file."""
    for make, message in (
        (lambda: Forget.of_classes([-1]), "there is no class -1"),
        (lambda: Forget.of_clients([NUMBERED]), f"there is no client {NUMBERED}"),
        (lambda: Forget.of_samples([(5, -1)]), "there is no row -1"),
        (lambda: Forget.of_samples([(-5, 3)]), "there is no client -5"),
    ):
        with pytest.raises(UnlearningError, match=message):
            make()


@pytest.mark.parametrize(
    ("forget", "message"),
    [
        (Forget.of_clients([99]), "there is no client 99; there are 1, 2, 3"),
        (Forget.of_clients([6]), r"client 6 owns none of the starts \(r5, r7\)"),
        (Forget.of_clients(range(1, 15)), "owns none of the starts"),
        (Forget.of_samples([(5, 10_000)]), "user 5 has no sample 10000: its rows are 0 to"),
        (Forget.of_samples([(6, 0)]), "client 6 owns none of the starts"),
    ],
)
def test_clients_and_samples_must_be_there(few: UnlearningCase, forget: Forget, message: str) -> None:
    with pytest.raises(UnlearningError, match=message):
        replace(few.task, forget=forget)


def test_all_samples_of_a_user_are_a_matter_of_level_client(few: UnlearningCase) -> None:
    everything = Forget.of_samples((5, row) for row in range(len(few.task.users[5].train)))
    with pytest.raises(UnlearningError, match="ask at level client"):
        replace(few.task, forget=everything)


def test_a_client_that_keeps_nothing_leaves_its_aggregate(few: UnlearningCase) -> None:
    task = replace(few.task, forget=Forget.of_clients([5, 7]))
    first, second = (task.models[name].weights for name in task.graph.references("r5"))
    left = retrain_model(task, "r5", {})
    for name, tensor in left.items():
        assert torch.equal(tensor, (first[name] + second[name]) / 2)


def test_a_task_is_made_of_a_federation(few: UnlearningCase) -> None:
    task = few.task
    settings = FederationSpec(task.architecture, FederationSettings(), TrainingSettings())
    made = UnlearningTask.of(settings, task.models.values(), task.users.values(), ["r5", "r7"], task.forget)
    assert made.affected() == task.affected()
    assert set(made.classes) == {3}
    assert len(made.forget_set()) + len(made.retain_set()) == sum(len(u.train) for u in task.users.values())


def test_a_proxy_set_must_not_hold_what_is_to_be_forgotten(few: UnlearningCase) -> None:
    pool = few.dataset.proxy
    with pytest.raises(UnlearningError, match="samples of the forgotten class 3"):
        replace(few.task, proxy=pool)
    clean = balanced_proxy(pool, few.task.forget, 10)
    assert clean.classes() == (0, 1, 2, 4, 5, 6, 7, 8, 9)
    assert len(clean) == 90
    forgotten = few.task.users[5].train.at(torch.tensor([4]))
    mixed = Samples(torch.cat([clean.x, forgotten.x]), torch.cat([clean.y, forgotten.y]))
    with pytest.raises(UnlearningError, match=r"forgotten samples \(rows 90\)"):
        replace(few.task, proxy=mixed, forget=Forget.of_samples([(5, 4)]))


def test_an_available_proxy_set_takes_what_there_is(few: UnlearningCase) -> None:
    pool, forget = few.dataset.proxy, few.task.forget
    asked, all_there_is = available_proxy(pool, forget, 2), available_proxy(pool, forget, 1000)
    assert asked is not None and asked.y.bincount(minlength=10).tolist() == [2, 2, 2, 0, 2, 2, 2, 2, 2, 2]
    assert all_there_is is not None and torch.equal(all_there_is.x, pool.without([3]).x)
    assert available_proxy(pool.only([3]), forget, 2) is None


def test_a_proxy_set_has_enough_of_every_retained_class(few: UnlearningCase) -> None:
    with pytest.raises(UnlearningError, match="needs 1000 samples of each retained class; of class 0 there"):
        balanced_proxy(few.dataset.proxy, few.task.forget, 1000)
    with pytest.raises(UnlearningError, match="no retained class"):
        balanced_proxy(few.dataset.proxy.only([3]), few.task.forget, 1)
