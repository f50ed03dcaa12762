# SPDX-License-Identifier: Apache-2.0
"""Whether results depend on forgotten samples, on a federation of four."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from blockful_py.errors import LearningError, UnlearningError
from blockful_py.forget import Forget
from blockful_py.learning.forget_sets import forget_set, retain_set
from blockful_py.learning.weights import equal
from blockful_py.unlearning.audit import fresh
from blockful_py.unlearning.audit.exactness import is_exact, other_worlds
from blockful_py.unlearning.method import Outcome
from blockful_py.unlearning.registry import FOR_ADOPTED, FOR_SUMS, METHODS, create_method
from blockful_py.unlearning.retrain_ahead import RetrainAhead
from blockful_py.unlearning.task import UnlearningTask
from tests.unlearning.audit import tell_tales
from tests.unlearning.conftest import UnlearningCase

EXACT = {"clean_line", "retrain_ahead"}
"""Methods into which nothing enters that the forgotten samples have reached."""

SAMPLES = Forget.of_samples([(1, 0), (1, 5)])


@pytest.mark.parametrize("name", sorted(METHODS.keys() - FOR_SUMS - FOR_ADOPTED))
def test_where_an_ancestor_holds_the_class(tiny: UnlearningCase, name: str) -> None:
    assert is_exact(tiny.task, create_method(name)) == (name in EXACT)


@pytest.mark.parametrize("name", ["clean_line", "gradient_ascent", "retrain", "retrain_ahead"])
def test_where_the_request_names_the_first_model_that_met_the_class(tiny: UnlearningCase, name: str) -> None:
    """Retraining is exact there; passing takes what models know by their own samples along."""
    task = replace(tiny.task, starts=("a",), proxy=None)
    assert is_exact(task, create_method(name)) == (name != "gradient_ascent")


@pytest.mark.parametrize("forget", [Forget.of_clients([1]), SAMPLES])
def test_at_the_other_levels(tiny: UnlearningCase, forget: Forget) -> None:
    task = replace(tiny.task, starts=("a",), forget=forget, proxy=None)
    assert is_exact(task, create_method("retrain")) and is_exact(task, create_method("clean_line"))
    assert not is_exact(task, create_method("fine_tune"))


def test_a_method_that_tells_nothing_is_exact(tiny: UnlearningCase) -> None:
    assert is_exact(asked(tiny), tell_tales.TellTale())


def test_what_torch_imports_at_the_first_optimiser_is_there_before(tiny: UnlearningCase) -> None:
    """On a machine with a GPU it makes a folder, which a method may not."""
    assert is_exact(asked(tiny), tell_tales.Optimising())


@pytest.mark.parametrize(
    "name", ["Values", "Labels", "Number", "Published", "Accuracies", "Scores", "Keeping"]
)
def test_a_method_that_tells_is_found_out(tiny: UnlearningCase, name: str) -> None:
    assert not is_exact(asked(tiny), getattr(tell_tales, name)())


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("Writing", "PermissionError: .*read code alone"),
        ("Saving", "RuntimeError: .*fail"),
        ("Calling", r"PermissionError: .*socket\."),
    ],
)
def test_a_method_that_reaches_out_of_its_process_is_refused(
    tiny: UnlearningCase, name: str, refused: str
) -> None:
    with pytest.raises(UnlearningError, match=f"failed in a fresh process: {refused}"):
        is_exact(asked(tiny), getattr(tell_tales, name)())
    tell_tales.SAVED.unlink(missing_ok=True)  # empty, since nothing could be written


def test_only_what_is_forgotten_or_was_reached_becomes_other(tiny: UnlearningCase) -> None:
    task = replace(tiny.task, starts=("c",), forget=Forget.of_samples([(3, 0), (3, 4)]), proxy=None)
    worlds = list(other_worlds(task, 2))
    for world in worlds:
        assert [name for name in task.models if not same(task, world, name)] == ["c", "d"]
        assert all(world.models[name].accuracy != task.models[name].accuracy for name in "cd")
        for index, user in task.users.items():
            before, after = ((retain_set(each.forget, each.users[index])) for each in (task, world))
            assert torch.equal(before.x, after.x) and torch.equal(before.y, after.y)
            assert (index == 3) == (len(user.train) < len(world.users[index].train))
        forgotten, other = (forget_set(each.forget, each.users[3]) for each in (task, world))
        assert len(other) in (3, 4) and not (forgotten.x == other.x[:2]).any()
    assert not same(worlds[0], worlds[1], "c")


def test_weights_that_are_not_finite_are_not_exact(tiny: UnlearningCase) -> None:
    assert not is_exact(tiny.task, Diverging())


class Diverging(RetrainAhead):
    def unlearn(self, task: UnlearningTask) -> Outcome:
        raise LearningError("not finite")


def test_a_method_that_only_this_process_knows_is_refused_with_what_to_do(tiny: UnlearningCase) -> None:
    class Local(RetrainAhead):
        pass

    with pytest.raises(UnlearningError, match="Define its class in a module that can be imported"):
        is_exact(tiny.task, Local())


def asked(tiny: UnlearningCase) -> UnlearningTask:
    """The first model's owner forgets two samples."""
    return replace(tiny.task, starts=("a",), forget=SAMPLES, proxy=None)


def same(task: UnlearningTask, other: UnlearningTask, name: str) -> bool:
    return equal(task.models[name].weights, other.models[name].weights)


def test_a_server_that_was_killed_is_named_and_started_again(tiny: UnlearningCase) -> None:
    server = fresh._server()
    server.kill()
    server.wait()
    with pytest.raises(UnlearningError, match="the process that runs the method has ended"):
        fresh.digests_of(RetrainAhead(), tiny.task)
    assert fresh.digests_of(RetrainAhead(), tiny.task)
