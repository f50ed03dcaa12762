# SPDX-License-Identifier: Apache-2.0
"""A member's pending work in an SQLite file: certified proposals to finish, alarms to raise, evidence.

Unlike the memory (`durable`), this file may be lost, because other members do the same work.  A missing file
is therefore created.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from blockful_py.closable import Closable
from blockful_py.committee.memory import Ballot
from blockful_py.errors import MemoryLostError
from blockful_py.types import Address

NOTES = "notes.sqlite"
"""File name in a member's folder."""
APPLICATION = 0x426C464E
"""SQLite's `application_id` of these files: "BlFN"."""
SCHEMA = f"""
BEGIN;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = 1;
CREATE TABLE note (
    topic TEXT NOT NULL,
    chain_id INTEGER NOT NULL,
    committee BLOB NOT NULL,
    epoch INTEGER NOT NULL,
    proposal BLOB NOT NULL,
    number INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (topic, chain_id, committee, epoch, proposal, number)
) WITHOUT ROWID;
COMMIT;
"""
READ_ONE = (
    "SELECT body FROM note WHERE topic = ? AND chain_id = ? AND committee = ? AND epoch = ? AND proposal = ? "
    "AND number = ?"
)
READ_TOPIC = "SELECT chain_id, committee, epoch, proposal, number, body FROM note WHERE topic = ?"
STRIKE_BEFORE = "DELETE FROM note WHERE topic = ? AND NOT (chain_id = ? AND committee = ? AND epoch >= ?)"
STRIKE = (
    "DELETE FROM note WHERE topic = ? AND chain_id = ? AND committee = ? AND epoch = ? AND proposal = ? "
    "AND number = ?"
)


@dataclass(frozen=True, slots=True)
class Note:
    """A note on a ballot; `number` is the 1-based index of the member concerned, or 0."""

    ballot: Ballot
    number: int
    body: bytes


class OutboxStore(Closable):
    """Keeps one note for each topic, ballot and number; several threads may use it."""

    def __init__(self, path: Path) -> None:
        """Opens the file, or creates it.  Raises MemoryLostError when it cannot be used."""
        self._path = path
        self._lock = threading.Lock()
        try:
            path.touch(mode=0o600)
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._prepare()
        except (OSError, sqlite3.Error) as error:
            raise MemoryLostError(f"the outbox {path} cannot be used ({error}): move it away.") from None

    def write(self, topic: str, ballot: Ballot, body: bytes, number: int = 0) -> bytes:
        """Stores `body` durably unless a note exists.  Returns the stored note."""
        row = (topic, *astuple(ballot), number)
        with self._lock:
            self._execute("INSERT OR IGNORE INTO note VALUES (?, ?, ?, ?, ?, ?, ?)", *row, body)
            return bytes(self._execute(READ_ONE, *row).fetchone()[0])

    def read(self, topic: str) -> tuple[Note, ...]:
        """All notes of a topic."""
        with self._lock:
            rows = self._execute(READ_TOPIC, topic).fetchall()
        return tuple(
            Note(Ballot(row[0], bytes(row[1]), row[2], bytes(row[3])), row[4], bytes(row[5])) for row in rows
        )

    def strike(self, topic: str, ballot: Ballot, number: int = 0) -> None:
        """Removes a note if it exists."""
        with self._lock:
            self._execute(STRIKE, topic, *astuple(ballot), number)

    def strike_before(self, topics: Sequence[str], chain_id: int, committee: Address, epoch: int) -> None:
        """Removes the notes of these topics on other committees, and on earlier epochs of this one."""
        with self._lock:
            for topic in topics:
                self._execute(STRIKE_BEFORE, topic, chain_id, committee, epoch)

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _prepare(self) -> None:
        application = self._connection.execute("PRAGMA application_id").fetchone()[0]
        fresh = not self._connection.execute("SELECT name FROM sqlite_master").fetchall()
        if application != (0 if fresh else APPLICATION):
            raise OSError("it is not an outbox")
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        if fresh:
            self._connection.executescript(SCHEMA)

    def _execute(self, statement: str, *values: str | int | bytes) -> sqlite3.Cursor:
        try:
            return self._connection.execute(statement, values)
        except sqlite3.Error as error:
            raise MemoryLostError(f"the outbox {self._path} cannot be used ({error}).") from None
