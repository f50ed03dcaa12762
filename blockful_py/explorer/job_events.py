# SPDX-License-Identifier: Apache-2.0
"""Follows one job of a run in its journal and yields an event for each change, until the job ends.

job         the followed job; the first event
step        a step was begun, done or dropped
progress    steps done, steps per second, and remaining seconds
log         a line of the party's log
idle        no process is executing the job, as after a crash
end         the job's state and outcome
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from blockful_py.engine.jobs import Job, JobState, StepState
from blockful_py.engine.journal import Journal
from blockful_py.errors import RunError
from blockful_py.explorer.jobs_feed import log_of, progress
from blockful_py.explorer.lists import Document
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.lease import Lease

TAIL_BYTES = 1 << 20
"""Maximum bytes of a log read at a time."""


def follow(path: Path, pause: Callable[[], object]) -> Iterator[Document]:
    """Events of the open job of the run at `path`, or else of its newest; `pause` waits between polls.

    Raises RunError if no job was begun, or the journal cannot be read.
    """
    with RunDirectory.open(path).opened_journal() as journal:
        jobs = journal.jobs()
        if not jobs:
            raise RunError(f"no job was begun in {path}: start one, or name another run with --run.")
        yield from _Following(path, journal, jobs[-1]).events(pause)


class _Following:
    """Events already yielded for a job; a journal has at most one open job, its newest."""

    def __init__(self, path: Path, journal: Journal, job: Job) -> None:
        self._path = path
        self._journal = journal
        self._job = job
        self._states: dict[int, StepState] = {}
        self._progress: Document = {}
        self._is_idle = False
        self._log = _LogTail(log_of(path))

    def events(self, pause: Callable[[], object]) -> Iterator[Document]:
        job = self._job
        yield {"event": "job", "job": job.number, "kind": job.kind.value, "begun": job.begun}
        while True:
            is_led = not Lease.is_free(self._path)
            job = self._journal.jobs()[self._job.number - 1]
            yield from self._log.events()
            yield from self._changes(job)
            if job.state is not JobState.OPEN:
                break
            if not is_led and not self._is_idle:
                yield {"event": "idle", "job": job.number}
            self._is_idle = not is_led
            pause()
        yield {
            "event": "end",
            "job": job.number,
            "state": job.state.value,
            "outcome": job.outcome,
            "excluded": list(job.excluded),
            "seconds": None if job.ended is None else job.ended - job.begun,
        }

    def _changes(self, job: Job) -> Iterator[Document]:
        for step in job.steps:
            before = self._states.get(step.number, StepState.PLANNED)
            self._states[step.number] = step.state
            if step.state is not before:
                yield {
                    "event": "step",
                    "decision": step.decision,
                    "act": step.act.value,
                    "subject": step.subject,
                    "state": step.state.value,
                    "at": step.ended or step.begun,
                }
        now = progress(job)
        if (now["done"], now["steps"]) != (self._progress.get("done"), self._progress.get("steps")):
            self._progress = now
            yield {"event": "progress", **now}


class _LogTail:
    """Lines appended to a log; empty if there is no log."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = path.stat().st_size if path.exists() else 0
        self._rest = b""

    def events(self) -> Iterator[Document]:
        """Yields complete lines only; reads a truncated log from its beginning."""
        try:
            if self._path.stat().st_size < self._at:
                self._at, self._rest = 0, b""
            with self._path.open("rb") as file:
                file.seek(self._at)
                added = file.read(TAIL_BYTES)
        except OSError:
            return
        self._at += len(added)
        *lines, self._rest = (self._rest + added).split(b"\n")
        for line in lines:
            yield {"event": "log", "line": line.decode(errors="replace")}
