# SPDX-License-Identifier: Apache-2.0
"""A model that a method changes apart is a task of its own, with the bits and the cost of this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pytest
import torch

from blockful_py.engine.engine import Engine, InThisProcess, LocalProcesses
from blockful_py.engine.jobs import Kind
from blockful_py.engine.journal import Journal
from blockful_py.engine.journaled_tasks import JournaledTasks
from blockful_py.errors import EngineError, LearningError
from blockful_py.forget import Forget
from blockful_py.learning.device import use_portable_products
from blockful_py.learning.weights import equal
from blockful_py.storage.store import ContentStore
from blockful_py.unlearning import change_task
from blockful_py.unlearning.change_task import TaskChanger
from blockful_py.unlearning.fine_tune import FineTune
from blockful_py.unlearning.method import Method, Outcome
from blockful_py.unlearning.registry import create_method
from blockful_py.unlearning.task import UnlearningTask
from tests.unlearning.conftest import UnlearningCase


@dataclass(frozen=True, slots=True)
class Gentle(FineTune):
    """A method of one's own, which no registry names."""

    rate: float = 0.01
    name: ClassVar[str] = "gentle"


APART = (*map(create_method, ("clean_increments", "fine_tune", "salun", "scrub")), Gentle())
SAMPLES = Forget.of_samples([(2, row) for row in range(9)])


@contextmanager
def on(engine: Engine, folder: Path, task: UnlearningTask) -> Iterator[tuple[UnlearningTask, Journal]]:
    """The task with changes by an engine, for a job whose journal is in `folder`."""
    with Journal(folder / "journal.sqlite") as journal:
        if journal.open_job() is None:
            journal.begin(Kind.PARALLEL)
        with JournaledTasks(engine, ContentStore(folder / "tasks"), journal) as tasks:
            yield replace(task, changer=TaskChanger(tasks)), journal


def titles(journal: Journal) -> list[str]:
    job = journal.open_job()
    assert job is not None
    return [step.subject for step in job.steps]


def alike(one: Outcome, other: Outcome) -> bool:
    return (
        one.cost == other.cost
        and list(one.weights) == list(other.weights)
        and all(equal(one.weights[name], other.weights[name]) for name in one.weights)
    )


@pytest.mark.parametrize("forget", [None, SAMPLES], ids=["class", "samples"])
@pytest.mark.parametrize("method", APART, ids=lambda method: method.name)
def test_a_change_is_the_same_as_a_task(
    tiny: UnlearningCase, method: Method, forget: Forget | None, tmp_path: Path
) -> None:
    task = tiny.task if forget is None else replace(tiny.task, forget=forget)
    here = method.unlearn(task)
    with on(InThisProcess(), tmp_path, task) as (given, journal):
        assert alike(method.unlearn(given), here)
        assert titles(journal) == [f"unlearn {model}" for model in task.affected()]
    with on(InThisProcess(), tmp_path, task) as (given, journal):
        assert alike(method.unlearn(given), here)
        assert len(titles(journal)) == len(task.affected())  # read, not done again


@pytest.mark.slow
def test_healing_has_the_same_bits_in_other_processes(tiny: UnlearningCase, tmp_path: Path) -> None:
    use_portable_products()
    method, proxy = create_method("clean_increments", heal_steps=3, head="silent"), tiny.dataset.proxy
    task = replace(tiny.task, proxy=proxy.without(tiny.task.classes))
    with on(LocalProcesses(2), tmp_path, task) as (given, _):
        assert alike(method.unlearn(given), method.unlearn(task))


def test_a_worker_with_another_version_of_ones_own_method_refuses(
    tiny: UnlearningCase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert change_task.file_digest(Gentle) != change_task.file_digest(FineTune)
    told = iter([*map(str, range(len(tiny.task.affected()))), "another"])  # to the driver, then to the worker
    monkeypatch.setattr(change_task, "file_digest", lambda method: next(told))
    with (
        on(InThisProcess(), tmp_path, tiny.task) as (given, _),
        pytest.raises(EngineError, match=r"another version of method 'tests\.unlearning.*:Gentle'"),
    ):
        Gentle().unlearn(given)


def test_a_change_that_fails_says_what_it_says_here(tiny: UnlearningCase, tmp_path: Path) -> None:
    method = create_method("fine_tune", rate=1e30)
    users = dict(tiny.task.users)
    user = users[2]
    users[2] = replace(user, train=replace(user.train, x=torch.full_like(user.train.x, 1e30)))
    task = replace(tiny.task, users=users)
    with pytest.raises(LearningError) as here:
        method.unlearn(task)
    with on(InThisProcess(), tmp_path, task) as (given, _), pytest.raises(LearningError) as there:
        method.unlearn(given)
    assert str(there.value) == str(here.value)
