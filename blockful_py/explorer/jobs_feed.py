# SPDX-License-Identifier: Apache-2.0
"""Jobs of runs on this machine, from their journals: steps, rates, remaining time, log lines."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from blockful_py.engine.jobs import Job, JobState, Kind, StepState
from blockful_py.errors import BlockfulError
from blockful_py.explorer.lists import Document, hexed, without_paths
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.record.request import Request, request_key

REQUESTS = (Kind.PARALLEL, Kind.SEQUENTIAL)
LATEST = 20
"""Maximum number of jobs shown per run."""
STEPS = 200
LINES = 40
TAIL_BYTES = 16 * 1024


class JobsFeed:
    """Reads the journals of run directories, again only if they changed."""

    def __init__(self, runs: tuple[tuple[str, Path], ...]) -> None:
        """Reads `runs`, directories by name; a party's log lies beside its folder (`blockful up`)."""
        self._runs = runs
        self._known: dict[str, tuple[object, Document]] = {}

    def documents(self) -> list[Document]:
        """Each run with its newest jobs."""
        return [self._of(name, path) for name, path in self._runs]

    def request_seconds(self) -> dict[bytes, float]:
        """Duration of each completed request in seconds, by the request's key."""
        found = {}
        for _, path in self._runs:
            with suppress(BlockfulError):
                for job in _jobs(path):
                    if job.kind in REQUESTS and job.state is JobState.DONE and job.ended is not None:
                        found[request_key(Request.model_validate_json(job.request))] = job.ended - job.begun
        return found

    def _of(self, name: str, path: Path) -> Document:
        stamp = _stamp(path)
        known = self._known.get(name)
        if known is None or known[0] != stamp:
            known = self._known[name] = stamp, _read(name, path)
        return known[1]


def log_of(path: Path) -> Path:
    """Log of the party whose run this is; `blockful up` puts it beside the party's folder."""
    folder = path.resolve().parent
    return folder.with_name(folder.name + ".log")


def _files(path: Path) -> tuple[Path, Path, Path]:
    return path / "journal.sqlite", path / "journal.sqlite-wal", log_of(path)


def _stamp(path: Path) -> object:
    stamps = []
    for each in _files(path):
        try:
            found = each.stat()
            stamps.append((found.st_mtime_ns, found.st_size))
        except OSError:
            stamps.append((0, 0))
    return stamps


def _jobs(path: Path) -> tuple[Job, ...]:
    """All jobs of a run, oldest first.  Raises RunError."""
    with RunDirectory.open(path).opened_journal() as journal:
        return journal.jobs()


def _read(name: str, path: Path) -> Document:
    try:
        jobs = _jobs(path)
    except BlockfulError as error:
        return {"name": name, "problem": without_paths(str(error)), "jobs": [], "log": []}
    shown = [job_document(job) for job in reversed(jobs[-LATEST:])]
    return {"name": name, "problem": None, "jobs": shown, "log": _tail(_files(path)[2])}


def progress(job: Job) -> Document:
    """Steps done, steps per second, and an estimate of the remaining seconds.

    The estimate covers the steps planned so far; each decision adds more.
    """
    steps = job.valid
    done = [each for each in steps if each.state is StepState.DONE]
    until = job.ended or max((each.ended or 0.0 for each in done), default=job.begun)
    elapsed = max(until - job.begun, 0.0)
    rate = len(done) / elapsed if elapsed > 0 else None
    left = len(steps) - len(done)
    is_open = job.state is JobState.OPEN
    remaining = left / rate if is_open and rate else None
    return {"done": len(done), "steps": len(steps), "rate": rate, "remaining": remaining}


def job_document(job: Job) -> Document:
    """A job, its progress, and its newest steps."""
    steps = job.valid
    return {
        "job": job.number,
        "kind": job.kind.value,
        "state": job.state.value,
        "outcome": job.outcome,
        "begun": job.begun,
        "ended": job.ended,
        **progress(job),
        "excluded": list(job.excluded),
        "latest": [
            {
                "decision": each.decision,
                "act": each.act.value,
                "subject": each.subject,
                "state": each.state.value,
                "begun": each.begun,
                "ended": each.ended,
                "transaction": hexed(each.transaction),
            }
            for each in steps[-STEPS:]
        ],
    }


def _tail(path: Path) -> list[str]:
    """The last lines of a log; empty if there is no log."""
    try:
        with path.open("rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - TAIL_BYTES, 0))
            return file.read(TAIL_BYTES).decode(errors="replace").splitlines()[-LINES:]
    except OSError:
        return []
