# SPDX-License-Identifier: Apache-2.0
"""Tasks of a job: the content of their keys, and single execution of each."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from blockful_py.engine import tasks as tasks_module
from blockful_py.engine import worker
from blockful_py.engine.engine import InThisProcess
from blockful_py.engine.jobs import Act, JobState, Kind, StepState
from blockful_py.engine.journal import Journal
from blockful_py.engine.journaled_tasks import JournaledTasks
from blockful_py.engine.tasks import EngineTask
from blockful_py.errors import CycleError, EngineError, LearningError, RunError
from blockful_py.storage.store import ContentStore


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "journal.sqlite") as journal:
        journal.begin(Kind.EXPERIMENT)
        yield journal


@pytest.fixture
def tasks(tmp_path: Path, journal: Journal) -> JournaledTasks:
    return JournaledTasks(InThisProcess(), ContentStore(tmp_path / "store"), journal)


def joined(tasks: JournaledTasks, folder: Path, name: str, *inputs: bytes) -> EngineTask:
    return EngineTask(
        title=name,
        function="tests.engine.workers:joined",
        settings={"name": name, "calls": str(folder / "calls")},
        inputs=tuple(map(tasks.store.add, inputs)),
        seeds=(7,),
    )


def of(function: str) -> EngineTask:
    return EngineTask(function, f"tests.engine.workers:{function}")


def calls(folder: Path) -> list[str]:
    return (folder / "calls").read_text().split()


def test_results_come_with_the_places_of_their_tasks(tasks: JournaledTasks, tmp_path: Path) -> None:
    made = [joined(tasks, tmp_path, "a", b"1", b"2"), joined(tasks, tmp_path, "b")]
    assert dict(tasks.results(made)) == {0: b"12\x07", 1: b"\x07"}
    assert list(tasks.results([])) == []


def test_a_task_that_is_noted_is_not_carried_out_again(
    tasks: JournaledTasks, journal: Journal, tmp_path: Path
) -> None:
    first, second = joined(tasks, tmp_path, "a"), joined(tasks, tmp_path, "b")
    dict(tasks.results([first]))
    again = JournaledTasks(InThisProcess(), tasks.store, journal)
    assert dict(again.results([second, first, second])) == {0: b"\x07", 1: b"\x07", 2: b"\x07"}
    assert calls(tmp_path) == ["a", "b"]
    job = journal.open_job()
    assert job is not None
    assert [(s.act, s.subject, s.state) for s in job.steps] == [
        (Act.COMPUTE, name, StepState.DONE) for name in "ab"
    ]


def test_a_driver_that_stops_before_the_note_has_the_task_done_once_more(
    tasks: JournaledTasks, journal: Journal, tmp_path: Path
) -> None:
    made = [joined(tasks, tmp_path, "a"), joined(tasks, tmp_path, "b")]
    results = tasks.results(made)
    next(results)  # a is noted, b is begun
    results.close()
    assert dict(tasks.results(made)) == {0: b"\x07", 1: b"\x07"}
    assert calls(tmp_path) == ["a", "b"]
    job = journal.open_job()
    assert job is not None
    assert [step.state for step in job.steps] == [StepState.DONE, StepState.DONE]


def test_a_result_that_the_store_has_lost_is_made_again(tasks: JournaledTasks, tmp_path: Path) -> None:
    made = [joined(tasks, tmp_path, "a", b"1")]
    ((_, result),) = tasks.results(made)
    shutil.rmtree(tmp_path / "store" / "blocks")
    tasks = JournaledTasks(InThisProcess(), ContentStore(tmp_path / "store"), tasks._journal)
    tasks.store.add(b"1")
    assert dict(tasks.results(made)) == {0: result}
    assert calls(tmp_path) == ["a", "a"]


def test_the_key_is_of_code_settings_inputs_and_seeds(
    tasks: JournaledTasks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = joined(tasks, tmp_path, "a", b"1")
    assert replace(task, title="another", cpus=3).key == task.key
    others = [
        replace(task, function="tests.engine.workers:refuses"),
        replace(task, settings={"name": "b"}),
        replace(task, inputs=()),
        replace(task, seeds=(8,)),
    ]
    keys = {each.key for each in [task, *others]}
    monkeypatch.setattr(tasks_module, "code_version", lambda: "another")
    assert len({*keys, task.key}) == 6


@pytest.mark.parametrize(("function", "error"), [("refuses", LearningError), ("goes_round", CycleError)])
def test_an_error_of_the_task_comes_as_it_was_raised(
    tasks: JournaledTasks, journal: Journal, function: str, error: type[Exception]
) -> None:
    with pytest.raises(error, match=r"not with this rate|a -> b -> a"):
        list(tasks.results([of(function)]))
    job = journal.open_job()
    assert job is not None
    assert [step.state for step in job.steps] == [StepState.BEGUN]


def test_tasks_need_an_open_job(tasks: JournaledTasks, journal: Journal) -> None:
    journal.close_job(JobState.DONE)
    with pytest.raises(RunError, match="no job is open"):
        list(tasks.results([of("refuses")]))


def told(store: Path, **changes: object) -> str:
    """A worker's answer to an order with these changes, as the driver reads it."""
    call = {**json.loads(of("process_id").order(store)), **changes}
    return worker.result_of(worker.carry_out(json.dumps(call)))


def test_a_worker_without_the_drivers_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"does not find the data in .*/elsewhere.*same path"):
        told(tmp_path / "elsewhere")
    assert not (tmp_path / "elsewhere").exists()


def test_a_worker_without_an_input_names_it(tmp_path: Path) -> None:
    store = ContentStore(tmp_path)
    cid = json.loads(EngineTask("", "m:f", inputs=(store.add(b"x"),)).order(tmp_path))["inputs"]
    shutil.rmtree(tmp_path / "blocks")
    ContentStore(tmp_path)
    with pytest.raises(EngineError, match=rf"lacks what a task needs: block {cid[0]}"):
        told(tmp_path, inputs=cid)


def test_a_worker_of_another_version_refuses(tmp_path: Path) -> None:
    ContentStore(tmp_path)
    with pytest.raises(EngineError, match=r"another version of blockful or torch.*000000000000"):
        told(tmp_path, code=64 * "0")


@pytest.mark.parametrize("function", ["tests.engine.workers:no_function", "no_module:f"])
def test_a_worker_without_the_function_says_so(tmp_path: Path, function: str) -> None:
    ContentStore(tmp_path)
    with pytest.raises(EngineError, match=f"cannot import {function}"):
        told(tmp_path, function=function)
