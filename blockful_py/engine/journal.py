# SPDX-License-Identifier: Apache-2.0
"""The journal of a run: records every step of a job on disk, before the step begins and after it ends.

It is a SQLite file with a write-ahead log and synced commits.  Entries are only added, and each is bound to
all earlier ones.  At most one job is open.  Only the process that leads the run writes; others may read at
any time.  States and guarantees: docs/reference/jobs.md.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from blockful_py.closable import Closable
from blockful_py.engine.jobs import Job, JobState, Kind, PlannedStep, Step, StepState
from blockful_py.engine.journal_file import broken, connect, create, unwritten
from blockful_py.engine.journal_log import Bodies, BrokenLogError, Entry, JournalLog, body_digest
from blockful_py.errors import RunError


@dataclass(slots=True)
class StepResult:
    """Outcome of a finished step.

    Attributes:
        transaction: hash of the step's transaction.
        body: additions to the step's body.
        plans: follow-up steps of the same decision, planned in the same commit.
        excluded: members excluded from the step, each with the reason.
    """

    transaction: bytes | None = None
    body: dict[str, Any] = field(default_factory=dict)
    plans: list[PlannedStep] = field(default_factory=list)
    excluded: tuple[str, ...] = ()


class Journal(Closable):
    """The jobs in the SQLite file at `path`, which the first job creates.  Thread-safe.

    Every method raises RunError if the file is damaged, edited, foreign, full or not readable.
    """

    def __init__(self, path: Path, run: str = "") -> None:
        """Accepts a journal of the run with identity `run`; an empty string accepts any run."""
        self._path = path
        self._run = run
        self._turn = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._log = JournalLog("")
        self._known: dict[int, tuple[str, Mapping[str, Any]]] = {}

    def begin(self, kind: Kind, request: str = "") -> Job:
        """Opens a job.  Raises RunError if another one is open."""
        with self._turn:
            if self._reached() is None:
                create(self._path, self._run)
            with self._transaction() as connection:
                unfinished_job = self._log.open_job(self._catch_up(connection))
                if unfinished_job is not None:
                    raise unfinished(unfinished_job)
                self._add(connection, entry="begin", kind=kind, request=request, at=time.time())
            return self._open()

    def open_job(self) -> Job | None:
        """The open job, if any."""
        with self._reading() as bodies:
            return self._log.open_job(bodies)

    def jobs(self) -> tuple[Job, ...]:
        """All jobs, oldest first."""
        with self._reading() as bodies:
            return self._log.jobs(bodies)

    def close_job(self, state: JobState, outcome: str = "", result: Mapping[str, Any] | None = None) -> None:
        """Ends the open job with its result, and deletes the bodies of its steps."""
        with self._transaction() as connection:
            self._require_open()
            ended = {"state": state, "outcome": outcome, "result": result or {}, "at": time.time()}
            self._add(connection, entry="close", **ended)
            connection.execute("DELETE FROM body")

    def plan(self, plans: Sequence[PlannedStep], decision: int | None = None) -> tuple[Step, ...]:
        """Adds steps to the open job: to `decision`, to a new decision if None, or to no decision if 0."""
        with self._transaction() as connection:
            self._require_open()
            if decision is None:
                decision = 1 + self._log.decisions
            return self._planned(connection, plans, decision)

    @contextmanager
    def taking(self, step: Step) -> Iterator[StepResult]:
        """Marks the step as begun, then as done after the block; it stays begun if the block fails."""
        self.take([step])
        result = StepResult()
        yield result
        self.finish(step, result)

    def take(self, steps: Sequence[Step]) -> None:
        """Marks steps as begun, in one commit."""
        with self._transaction() as connection:
            for step in steps:
                self._add(connection, entry="take", step=step.number, at=time.time())

    def finish(self, step: Step, result: StepResult) -> None:
        """Marks a begun step as done."""
        with self._transaction() as connection:
            self._add(
                connection,
                entry="done",
                step=step.number,
                at=time.time(),
                transaction=None if result.transaction is None else result.transaction.hex(),
                body=self._put(connection, step.number, {**step.body, **result.body}),
                excluded=result.excluded,
            )
            self._planned(connection, result.plans, step.decision)

    def drop(self, steps: Sequence[Step]) -> None:
        """Marks steps as dropped: they will not run."""
        with self._transaction() as connection:
            for step in steps:
                self._add(connection, entry="drop", step=step.number)

    def close(self) -> None:
        with self._turn:
            if self._connection is not None:
                self._closer()
                self._connection = None

    def _open(self) -> Job:
        job = self.open_job()
        if job is None:
            raise broken(self._path, "it took a job and holds none")
        return job

    def _require_open(self) -> None:
        if not self._log.is_open:
            raise RunError("no job is open: begin one before its steps.")

    def _planned(
        self, connection: sqlite3.Connection, plans: Sequence[PlannedStep], decision: int
    ) -> tuple[Step, ...]:
        steps = []
        for plan in plans:
            number = self._log.steps + 1
            body = self._put(connection, number, plan.body)
            told = {"decision": decision, "act": plan.act, "subject": plan.subject, "body": body}
            self._add(connection, entry="plan", **told)
            steps.append(Step(number, decision, plan.act, plan.subject, plan.body, StepState.PLANNED))
        return tuple(steps)

    def _put(self, connection: sqlite3.Connection, step: int, body: Mapping[str, Any]) -> str:
        """Stores a step's body; returns its digest."""
        text = json.dumps(dict(body))
        connection.execute("INSERT OR REPLACE INTO body VALUES (?, ?)", (step, text))
        return body_digest(text)

    def _add(self, connection: sqlite3.Connection, **content: Any) -> None:
        entry = self._log.written(content)
        connection.execute("INSERT INTO entry VALUES (?, ?, ?)", (entry.number, entry.content, entry.digest))
        self._log.read([entry])

    @contextmanager
    def _reading(self) -> Iterator[Bodies]:
        """Reads new entries from the disk; yields the bodies of the open job's steps."""
        with self._turn:
            connection = self._reached()
            if connection is None:
                yield {}
                return
            try:
                connection.execute("BEGIN")
                try:
                    bodies = self._catch_up(connection)
                finally:
                    connection.execute("COMMIT")
            except sqlite3.Error as error:
                raise RunError(f"{self._path} cannot be read: {error}.") from None
            yield bodies

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Runs the block in one commit, which is on disk when the block has ended."""
        with self._turn:
            connection = self._reached()
            if connection is None:
                raise RunError(f"{self._path} is missing: no job was begun.")
            try:
                connection.execute("BEGIN IMMEDIATE")
                try:
                    self._catch_up(connection)
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    self._log = JournalLog(self._owner)
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
            except sqlite3.Error as error:
                raise unwritten(self._path, error) from None

    def _catch_up(self, connection: sqlite3.Connection) -> Bodies:
        """Reads the entries added since the last call; returns the bodies of the open job's steps."""
        rows = "SELECT number, content, digest FROM entry WHERE number > ? ORDER BY number"
        try:
            self._log.read(Entry(*row) for row in connection.execute(rows, (self._log.last,)))
            (added,) = connection.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence").fetchone()
            if added != self._log.last:
                raise BrokenLogError(f"its last entry is {self._log.last}, and {added} were written")
        except (BrokenLogError, TypeError) as error:
            raise broken(self._path, error) from None
        return self._bodies(connection)

    def _bodies(self, connection: sqlite3.Connection) -> Bodies:
        bodies = self._log.bodies
        self._known = {step: known for step, known in self._known.items() if bodies.get(step) == known[0]}
        for step in bodies.keys() - self._known.keys():
            row = connection.execute("SELECT content FROM body WHERE step = ?", (step,)).fetchone()
            if row is None or body_digest(str(row[0])) != bodies[step]:
                raise broken(self._path, f"the body of step {step} was altered or is missing")
            self._known[step] = (bodies[step], json.loads(row[0]))
        return {step: body for step, (_, body) in self._known.items()}

    def _reached(self) -> sqlite3.Connection | None:
        """The connection; None while the file does not exist."""
        if self._connection is None:
            if not self._path.exists():
                return None
            connection = connect(self._path)
            self._closer = weakref.finalize(self, connection.close)
            self._owner = self._owner_in(connection)
            self._log, self._connection = JournalLog(self._owner), connection
        return self._connection

    def _owner_in(self, connection: sqlite3.Connection) -> str:
        """Identity of the run in the file.  Raises RunError if it differs from this journal's run."""
        try:
            (owner,) = connection.execute("SELECT run FROM owner").fetchone() or ("",)
        except sqlite3.Error as error:
            raise broken(self._path, error) from None
        if self._run and owner not in ("", self._run):
            raise broken(self._path, f"it is the journal of another run ({str(owner)[:100]})")
        return str(owner)


def unfinished(job: Job) -> RunError:
    """The error for beginning a job while another one is open."""
    return RunError(
        f"job {job.number} ({job.kind}) is unfinished: finish it with `blockful resume`, or give it up with "
        "`blockful abort`, before another one."
    )
