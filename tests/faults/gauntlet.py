# SPDX-License-Identifier: Apache-2.0
"""Jobs as processes that are killed at chosen steps of their journal, which an undisturbed run lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from signal import SIGKILL
from typing import Any

from blockful_py.engine.jobs import Act, Job, JobState, Kind, Step
from blockful_py.engine.journal import Journal, StepResult
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.resume import resume
from blockful_py.pipeline.run.nodes import ChainEndpoints, Nodes
from tests.faults.fuse import die
from tests.forks import FORKS

SECONDS = 600.0

Work = Callable[[Federation], object]


class When(StrEnum):
    BEFORE = "before"
    """The step is recorded as begun, without any work done."""
    AFTER = "after"
    """The step is done, but only recorded as begun."""


@dataclass(frozen=True)
class Moment:
    """A moment in a job; with `act` None, its opening (before the first step) or its closing (before or
    after)."""

    when: When
    act: Act | None = None
    subject: str = ""

    def is_at(self, step: Step, when: When) -> bool:
        return (self.act, self.subject, self.when) == (step.act, step.subject, when)


OPENED = Moment(When.AFTER, None, "opened")
CLOSING = Moment(When.BEFORE, None, "closed")
CLOSED = Moment(When.AFTER, None, "closed")


def moments(job: Job) -> list[Moment]:
    """Before and after each step of an undisturbed job, in order, and at its two ends."""
    steps = [Moment(when, step.act, step.subject) for step in job.steps for when in When]
    assert len({*steps}) == len(steps)
    return [OPENED, *steps, CLOSING, CLOSED]


def killed_at(moment: Moment, run: Path, chains: Nodes, work: Work) -> None:
    """Has a process resume the run's job, or begin it with `work`, and checks that it dies at the moment."""
    urls = (chains.live.url, chains.archive.url)
    process = FORKS.Process(target=_go_on, args=(run, urls, chains.place, work, moment))
    process.start()
    process.join(SECONDS)
    assert process.exitcode == -SIGKILL, moment


def _go_on(run: Path, urls: tuple[str, str], place: ChainEndpoints, work: Work, moment: Moment) -> None:
    """Resumes the job; `place` names our own chains, whose times and keys repeat."""
    _arm(moment)
    with Nodes(ChainEndpoints(1337, 1338, *urls)) as nodes:
        nodes.place = place
        _lead(run, nodes, work)


def _lead(run: Path, nodes: Nodes, work: Work) -> None:
    with Federation.open(run, nodes=nodes) as federation:
        if federation.context.journal.open_job() is None:
            work(federation)
        else:
            resume(federation)


def _arm(moment: Moment) -> None:
    """Makes every journal of this process kill it at the moment."""
    take, finish, close_job, begin = Journal.take, Journal.finish, Journal.close_job, Journal.begin

    def deadly_take(self: Journal, steps: Sequence[Step]) -> None:
        take(self, steps)
        if any(moment.is_at(step, When.BEFORE) for step in steps):
            die()

    def deadly_finish(self: Journal, step: Step, result: StepResult) -> None:
        if moment.is_at(step, When.AFTER):
            die()
        finish(self, step, result)

    def deadly_close(self: Journal, state: JobState, *result: Any) -> None:
        if moment == CLOSING:
            die()
        close_job(self, state, *result)
        if moment == CLOSED:
            die()

    def deadly_begin(self: Journal, kind: Kind, request: str = "") -> Job:
        job = begin(self, kind, request)
        if moment == OPENED:
            die()
        return job

    Journal.take = deadly_take  # type: ignore[method-assign]
    Journal.finish = deadly_finish  # type: ignore[method-assign]
    Journal.close_job = deadly_close  # type: ignore[method-assign]
    Journal.begin = deadly_begin  # type: ignore[method-assign]
