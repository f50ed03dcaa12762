# SPDX-License-Identifier: Apache-2.0
"""A job is followed from its journal: everything that happens, once, until it ends."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from blockful_py.engine.jobs import Act, JobState, Kind, PlannedStep
from blockful_py.engine.journal import Journal
from blockful_py.errors import RunError
from blockful_py.explorer.job_events import follow
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.lease import Lease
from blockful_py.pipeline.run.nodes import ChainEndpoints
from tests.cli.commands import blockful
from tests.federations import small


@pytest.fixture
def run(tmp_path: Path) -> Path:
    party = tmp_path / "participant-1"
    party.mkdir()
    place = ChainEndpoints(1337, 1338, "http://127.0.0.1:1", "http://127.0.0.1:2")
    return RunDirectory.create(party / "run", small(), place).path


@pytest.fixture
def journal(run: Path) -> Iterator[Journal]:
    """As the process that leads has it."""
    with RunDirectory.open(run).opened_journal() as opened:
        yield opened


def followed(run: Path, *acts: Callable[[], object]) -> list[dict[str, Any]]:
    """The events, where between two looks one thing is done after the other."""
    left = list(acts)
    events = list(follow(run, lambda: left.pop(0)()))
    assert not left
    return events


def of(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [each for each in events if each["event"] == kind]


def test_steps_progress_and_the_end_are_told_once(run: Path, journal: Journal) -> None:
    def plan() -> None:
        journal.plan([PlannedStep(Act.CERTIFY, "block 1"), PlannedStep(Act.CONFIRM, "both chains")])

    def take(number: int) -> Callable[[], None]:
        def taken() -> None:
            job = journal.open_job()
            assert job is not None
            with journal.taking(job.steps[number]):
                pass

        return taken

    def drop() -> None:
        job = journal.open_job()
        assert job is not None
        journal.drop([job.steps[1]])

    with Lease(run):
        journal.begin(Kind.TRAIN)
        end = lambda: journal.close_job(JobState.DONE)  # noqa: E731
        events = followed(run, plan, lambda: None, take(0), drop, lambda: None, end)
    assert events[0] == {"event": "job", "job": 1, "kind": "train", "begun": journal.jobs()[0].begun}
    assert [(each["act"], each["subject"], each["state"]) for each in of(events, "step")] == [
        ("certify", "block 1", "done"),
        ("confirm", "both chains", "dropped"),
    ]
    told = [(each["done"], each["steps"]) for each in of(events, "progress")]
    assert told == [(0, 0), (0, 2), (1, 2), (1, 1)]
    assert of(events, "progress")[2]["remaining"] == pytest.approx(1 / of(events, "progress")[2]["rate"])
    assert of(events, "idle") == []
    assert (events[-1]["event"], events[-1]["state"]) == ("end", "done")
    assert events[-1]["seconds"] >= 0


def test_a_job_without_a_leader_is_told_idle_once_until_it_is_led_again(run: Path, journal: Journal) -> None:
    journal.begin(Kind.TRAIN)
    leases: list[Lease] = []
    events = followed(
        run,
        lambda: None,
        lambda: leases.append(Lease(run)),
        lambda: leases.pop().close(),
        lambda: None,
        lambda: journal.close_job(JobState.FAILED, "too few agree"),
    )
    assert len(of(events, "idle")) == 2
    assert (events[-1]["state"], events[-1]["outcome"]) == ("failed", "too few agree")


def test_whole_lines_of_the_log_are_told_from_when_it_is_followed(run: Path, journal: Journal) -> None:
    log = run.parent.with_name("participant-1.log")
    log.write_text("before\n")

    def add(text: str) -> Callable[[], object]:
        return lambda: log.write_text(log.read_text() + text)

    with Lease(run):
        journal.begin(Kind.TRAIN)
        anew = lambda: log.write_text("new\n")  # noqa: E731
        end = lambda: journal.close_job(JobState.DONE)  # noqa: E731
        events = followed(run, add("one\ntw"), add("o\n"), anew, end)
    assert [each["line"] for each in of(events, "log")] == ["one", "two", "new"]


def test_only_the_newest_job_is_followed(run: Path, journal: Journal) -> None:
    for state in (JobState.ABORTED, JobState.DONE):
        journal.begin(Kind.TRAIN)
        journal.close_job(state)
    assert [each.get("job") for each in (*of(followed(run), "job"), *of(followed(run), "end"))] == [2, 2]


def test_a_run_without_jobs_is_named(run: Path) -> None:
    with pytest.raises(RunError, match="no job was begun in"):
        followed(run)


@pytest.mark.parametrize(
    ("state", "status"), [(JobState.DONE, 0), (JobState.FAILED, 1), (JobState.ABORTED, 1)]
)
def test_the_command_ends_with_the_job(run: Path, journal: Journal, state: JobState, status: int) -> None:
    journal.begin(Kind.TRAIN)
    journal.close_job(state, "as it was")
    outcome = blockful(run.parent, "jobs", "--run", str(run), "--follow", "--json")
    assert outcome.status == status
    events = [json.loads(line) for line in outcome.out.splitlines()]
    assert [each["event"] for each in events] == ["job", "progress", "end"]
    outcome = blockful(run.parent, "jobs", "--run", str(run), "-f")
    assert outcome.status == status
    assert outcome.out.startswith("job 1, train, begun at ")
    assert outcome.out.splitlines()[-1].endswith(": as it was")


def test_what_a_log_says_does_not_control_the_terminal(run: Path, journal: Journal) -> None:
    journal.begin(Kind.TRAIN)
    journal.close_job(JobState.FAILED, "[bold]odd[/] \x1b[31m\r\nend")
    outcome = blockful(run.parent, "jobs", "--run", str(run), "--follow")
    assert outcome.out.splitlines()[-1].endswith(": [bold]odd[/]  [31m  end")
