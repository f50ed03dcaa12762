# SPDX-License-Identifier: Apache-2.0
"""The journal of a run: it records every step of a job on disk, before the step begins and after it ends.

SQLite with a write-ahead log, each commit synced.  At most one job is open.  Who writes holds the lead of
the run; others may read at any time.  States and guarantees: docs/reference/jobs.md.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from blockful_py.closable import Closable
from blockful_py.engine.jobs import Act, Job, JobState, Kind, PlannedStep, Step, StepState
from blockful_py.engine.journal_file import connect, create, unwritten
from blockful_py.errors import RunError

JOBS = "SELECT number, kind, request, state, outcome, begun, ended FROM job"
STEPS = (
    "SELECT number, decision, act, subject, body, state, begun, ended, transaction_hash FROM step "
    "WHERE job = ? ORDER BY number"
)


@dataclass(slots=True)
class StepResult:
    """What a step leaves behind when it is done.

    Attributes:
        transaction: hash of the transaction that did it.
        body: added to the step's own.
        plans: steps of the same decision that follow from it, planned in the same commit.
    """

    transaction: bytes | None = None
    body: dict[str, Any] = field(default_factory=dict)
    plans: list[PlannedStep] = field(default_factory=list)


class Journal(Closable):
    """The jobs in the SQLite file at `path`, which the first job makes; several threads may use it.

    Every method raises RunError when the file is damaged, foreign, full or not readable.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._turn = threading.RLock()
        self._connection: sqlite3.Connection | None = None

    def begin(self, kind: Kind, request: str = "") -> Job:
        """Opens a job.  Raises RunError when another one is open."""
        with self._turn:
            unfinished_job = self.open_job()
            if unfinished_job is not None:
                raise unfinished(unfinished_job)
            if self._reached() is None:
                create(self._path)
            with self._transaction() as connection:
                row = (kind, request, JobState.OPEN, time.time())
                connection.execute("INSERT INTO job (kind, request, state, begun) VALUES (?, ?, ?, ?)", row)
            job = self.open_job()
        if job is None:
            raise RunError(f"{self._path} took a job and holds none: see that nobody else changes it.")
        return job

    def open_job(self) -> Job | None:
        """The open job, if any."""
        return next(iter(self._jobs("WHERE state = ?", JobState.OPEN)), None)

    def jobs(self) -> tuple[Job, ...]:
        """All jobs, oldest first."""
        return self._jobs("ORDER BY number")

    def close_job(self, state: JobState, outcome: str = "") -> None:
        """Ends the open job; what its steps carried with them is forgotten."""
        with self._transaction() as connection:
            number = _open(connection)
            connection.execute("UPDATE step SET body = '{}' WHERE job = ?", (number,))
            connection.execute(
                "UPDATE job SET state = ?, outcome = ?, ended = ? WHERE number = ?",
                (state, outcome, time.time(), number),
            )

    def plan(self, plans: Sequence[PlannedStep], decision: int | None = None) -> tuple[Step, ...]:
        """Adds steps to the open job: of a decision, or of a new one when that is None; 0 for none."""
        with self._transaction() as connection:
            number = _open(connection)
            if decision is None:
                known = "SELECT coalesce(max(decision), 0) FROM step WHERE job = ?"
                decision = 1 + int(connection.execute(known, (number,)).fetchone()[0])
            return tuple(_add(connection, number, decision, plan) for plan in plans)

    @contextmanager
    def taking(self, step: Step) -> Iterator[StepResult]:
        """The step is begun before the block and done after it; where the block fails, it stays begun."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE step SET state = ?, begun = ? WHERE number = ?",
                (StepState.BEGUN, time.time(), step.number),
            )
        entry = StepResult()
        yield entry
        with self._transaction() as connection:
            connection.execute(
                "UPDATE step SET state = ?, ended = ?, body = ?, "
                "transaction_hash = coalesce(?, transaction_hash) WHERE number = ?",
                (
                    StepState.DONE,
                    time.time(),
                    json.dumps({**step.body, **entry.body}),
                    entry.transaction,
                    step.number,
                ),
            )
            for plan in entry.plans:
                _add(connection, _open(connection), step.decision, plan)

    def drop(self, steps: Sequence[Step]) -> None:
        """These steps will not be carried out."""
        with self._transaction() as connection:
            for step in steps:
                connection.execute(
                    "UPDATE step SET state = ? WHERE number = ?", (StepState.DROPPED, step.number)
                )

    def close(self) -> None:
        with self._turn:
            if self._connection is not None:
                self._closer()
                self._connection = None

    def _jobs(self, clause: str, *values: str) -> tuple[Job, ...]:
        with self._turn:
            connection = self._reached()
            if connection is None:
                return ()
            try:
                connection.execute("BEGIN")
                try:
                    jobs = connection.execute(f"{JOBS} {clause}", values).fetchall()
                    steps = [connection.execute(STEPS, (row[0],)).fetchall() for row in jobs]
                finally:
                    connection.execute("COMMIT")
            except sqlite3.Error as error:
                raise RunError(f"{self._path} cannot be read: {error}.") from None
        return tuple(_job(row, rows) for row, rows in zip(jobs, steps, strict=True))

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """One commit, on the disk when it returns."""
        with self._turn:
            connection = self._reached()
            if connection is None:
                raise RunError(f"{self._path} is missing: no job was begun.")
            try:
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                    connection.execute("COMMIT")
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
            except sqlite3.Error as error:
                raise unwritten(self._path, error) from None

    def _reached(self) -> sqlite3.Connection | None:
        """The connection; None while there is no file."""
        if self._connection is None:
            if not self._path.exists():
                return None
            self._connection = connect(self._path)
            self._closer = weakref.finalize(self, self._connection.close)
        return self._connection


def unfinished(job: Job) -> RunError:
    """Why no other job can begin."""
    return RunError(
        f"job {job.number} ({job.kind}) is unfinished: finish it with `blockful resume`, or give it up with "
        "`blockful abort`, before another one."
    )


def _open(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT number FROM job WHERE state = ?", (JobState.OPEN,)).fetchone()
    if row is None:
        raise RunError("no job is open: begin one before its steps.")
    return int(row[0])


def _add(connection: sqlite3.Connection, job: int, decision: int, plan: PlannedStep) -> Step:
    row = (job, decision, plan.act, plan.subject, json.dumps(dict(plan.body)), StepState.PLANNED)
    cursor = connection.execute(
        "INSERT INTO step (job, decision, act, subject, body, state) VALUES (?, ?, ?, ?, ?, ?)", row
    )
    number = int(cursor.lastrowid or 0)
    return Step(number, decision, plan.act, plan.subject, plan.body, StepState.PLANNED)


def _job(row: Sequence[Any], steps: Sequence[Sequence[Any]]) -> Job:
    number, kind, request, state, outcome, begun, ended = row
    parsed = tuple(
        Step(at, decision, Act(act), subject, json.loads(body), StepState(how), since, until, sent)
        for at, decision, act, subject, body, how, since, until, sent in steps
    )
    return Job(number, Kind(kind), request, JobState(state), outcome, begun, ended, parsed)
