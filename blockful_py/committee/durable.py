# SPDX-License-Identifier: Apache-2.0
"""A member's memory in an SQLite file: every record is on disk before a method returns.

One process uses the file at a time.  Opening never repairs, replaces or creates it, because a member that
starts with an empty memory could vote twice.  Guarantees and limits: docs/reference/member-files.md.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import astuple
from pathlib import Path
from threading import Lock
from typing import Any

from blockful_py.closable import Closable
from blockful_py.committee.memory import Ballot, used
from blockful_py.errors import MemoryLostError
from blockful_py.types import Bytes32
from blockful_py.whole_file import sync

APPLICATION = 0x426C4655
"""SQLite's `application_id` of these files: "BlFU"."""
VERSION = 2
PAGE = 4096
"""Bytes in a page; without a write-ahead log, the file size is a multiple of it."""
SCHEMA = f"""
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
CREATE TABLE owner (address BLOB NOT NULL PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE decision (
    kind TEXT NOT NULL CHECK (kind IN ('approval', 'vote')),
    chain_id INTEGER NOT NULL,
    committee BLOB NOT NULL,
    epoch INTEGER NOT NULL,
    proposal BLOB NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (kind, chain_id, committee, epoch, proposal)
) WITHOUT ROWID;
CREATE TABLE session (
    id BLOB NOT NULL PRIMARY KEY,
    generation INTEGER NOT NULL UNIQUE
) WITHOUT ROWID;
CREATE TABLE pledge (
    chain_id INTEGER NOT NULL,
    committee BLOB NOT NULL,
    epoch INTEGER NOT NULL,
    signer INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (chain_id, committee, epoch, signer, generation)
) WITHOUT ROWID;
"""
ADVICE = (
    "The file was left alone. Do not restore an older copy and do not begin with an empty memory: the member "
    "could vote twice and lose its stake. Leave the committee, or wait until the epoch is over, and create a "
    "new memory for the next."
)


class DurableMemory(Closable):
    """The memory of the member with voting address `owner` (20 bytes), in the file at `path`."""

    def __init__(self, path: Path, owner: bytes) -> None:
        """Opens an existing memory, which several threads may use.

        Raises MemoryLostError when the file is missing, damaged, in use, or another member's.
        """
        self._path = path
        self._lock = Lock()
        if not path.is_file():
            raise MemoryLostError(f"{path} is missing. It is created once, when a member joins. {ADVICE}")
        self._held = _take(path)
        try:
            _check(path, owner)
            self._connection = _connect(path)
        except BaseException:
            os.close(self._held)
            raise

    @classmethod
    def create(cls, path: Path, owner: bytes) -> DurableMemory:
        """Creates and opens an empty memory that only its user can read.

        Raises MemoryLostError when `path` exists or cannot be written.
        """
        try:
            with tempfile.TemporaryDirectory(dir=path.parent) as folder:
                draft = Path(folder) / path.name
                with closing(sqlite3.connect(draft)) as connection:
                    connection.execute(f"PRAGMA page_size = {PAGE}")
                    connection.executescript(f"BEGIN; {SCHEMA} COMMIT;")
                    connection.execute("INSERT INTO owner VALUES (?)", (owner,))
                    connection.commit()
                draft.chmod(0o600)
                sync(draft)
                path.hardlink_to(draft)
            sync(path.parent)
        except FileExistsError:
            raise MemoryLostError(
                f"{path} exists already, and a member's memory is never replaced."
            ) from None
        except (OSError, sqlite3.Error) as error:
            raise MemoryLostError(f"{path} cannot be created: {error}.") from None
        return cls(path, owner)

    def approved(self, ballot: Ballot) -> bytes | None:
        with self._lock:
            return self._recorded("approval", ballot)

    def approve(self, ballot: Ballot, content: bytes) -> bytes:
        return self._decide("approval", ballot, content)

    def vote(self, ballot: Ballot, content: bytes) -> bytes:
        return self._decide("vote", ballot, content)

    def voted(self, ballot: Ballot) -> bytes | None:
        with self._lock:
            return self._recorded("vote", ballot)

    def use_session(self, session: bytes) -> int:
        counted = "INSERT OR IGNORE INTO session SELECT ?, coalesce(max(generation), 0) + 1 FROM session"
        with self._lock:
            if not self._insert(counted, session):
                raise used(session)
            return int(self._read("SELECT generation FROM session WHERE id = ?", session)[0])

    def attest(self, ballot: Ballot, uses: Sequence[tuple[int, int]], digest: Bytes32) -> tuple[int, ...]:
        known = (
            "SELECT digest FROM pledge "
            "WHERE chain_id = ? AND committee = ? AND epoch = ? AND signer = ? AND generation = ?"
        )
        with self._lock, self._at_once():
            keys = [(ballot.chain_id, ballot.committee, ballot.epoch, *use) for use in uses]
            others = tuple(key[3] for key in keys if self._read(known, *key) not in (None, (digest,)))
            if not others:
                for key in keys:
                    self._insert("INSERT OR IGNORE INTO pledge VALUES (?, ?, ?, ?, ?, ?)", *key, digest)
            return others

    def close(self) -> None:
        """Closes the file and releases its lock."""
        with self._lock:
            with suppress(sqlite3.Error):
                self._connection.close()
            if self._held >= 0:
                os.close(self._held)
                self._held = -1

    def __repr__(self) -> str:
        return f"DurableMemory({str(self._path)!r})"

    def _decide(self, kind: str, ballot: Ballot, content: bytes) -> bytes:
        row = (kind, *astuple(ballot), content)
        with self._lock:
            if self._insert("INSERT OR IGNORE INTO decision VALUES (?, ?, ?, ?, ?, ?)", *row):
                return content
            recorded = self._recorded(kind, ballot)
        if recorded is None:
            raise MemoryLostError(f"{self._path} neither accepts nor has a record. {ADVICE}")
        return recorded

    def _recorded(self, kind: str, ballot: Ballot) -> bytes | None:
        question = (
            "SELECT content FROM decision "
            "WHERE kind = ? AND chain_id = ? AND committee = ? AND epoch = ? AND proposal = ?"
        )
        row = self._read(question, kind, *astuple(ballot))
        return None if row is None else bytes(row[0])

    def _read(self, question: str, *values: str | int | bytes) -> Any:
        """The first row, or None."""
        try:
            return self._connection.execute(question, values).fetchone()
        except sqlite3.Error as error:
            raise self._lost("read", error) from None

    @contextmanager
    def _at_once(self) -> Iterator[None]:
        """Writes all records of its block together, or none if the block raises an exception."""
        self._run("BEGIN IMMEDIATE")
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise

    def _run(self, statement: str) -> None:
        try:
            self._connection.execute(statement)
        except sqlite3.Error as error:
            raise self._lost("written", error) from None

    def _insert(self, statement: str, *values: str | int | bytes) -> bool:
        """Inserts a row durably; returns whether it was added."""
        try:
            return self._connection.execute(statement, values).rowcount == 1
        except sqlite3.Error as error:
            raise self._lost("written", error) from None

    def _lost(self, what: str, error: sqlite3.Error) -> MemoryLostError:
        return MemoryLostError(
            f"{self._path} cannot be {what} ({error}); nothing was answered. Make room or mend the disk, "
            "then restart the member."
        )


def _take(path: Path) -> int:
    """Takes the lock file of `path`, until the returned descriptor is closed or the process ends."""
    beside = path.with_name(path.name + ".lock")
    held = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        raise _in_use(path) from None
    return held


def _check(path: Path, owner: bytes) -> None:
    """Checks a copy of the file, so that SQLite does not change a damaged one."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / path.name
            shutil.copyfile(path, copy)
            log = path.with_name(path.name + "-wal")
            if log.exists():
                shutil.copyfile(log, copy.with_name(log.name))
            elif copy.stat().st_size % PAGE:
                raise OSError(f"its size is {copy.stat().st_size} bytes, not a multiple of {PAGE}")
            with closing(sqlite3.connect(copy)) as connection:
                pragmas = [
                    _one(connection, name) for name in ("integrity_check", "application_id", "user_version")
                ]
                owners = [bytes(row[0]) for row in connection.execute("SELECT address FROM owner")]
    except (OSError, sqlite3.Error, TypeError) as error:
        raise MemoryLostError(f"{path} is damaged or not a member's memory: {error}. {ADVICE}") from None
    if pragmas != ["ok", APPLICATION, VERSION]:
        raise MemoryLostError(f"{path} is damaged or not a member's memory: {str(pragmas)[:200]}. {ADVICE}")
    if owners != [owner]:
        raise MemoryLostError(
            f"{path} is the memory of 0x{b''.join(owners).hex()}, not of 0x{owner.hex()}: "
            "name the right file."
        )


def _one(connection: sqlite3.Connection, pragma: str) -> object:
    return connection.execute(f"PRAGMA {pragma}").fetchone()[0]


def _connect(path: Path) -> sqlite3.Connection:
    """An exclusive connection that commits each statement and waits for the disk."""
    uri = f"{path.absolute().as_uri()}?mode=rw"
    connection = sqlite3.connect(uri, timeout=0, isolation_level=None, check_same_thread=False, uri=True)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        journal = _one(connection, "journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        connection.close()
        if "locked" in str(error):
            raise _in_use(path) from None
        raise MemoryLostError(
            f"{path} cannot be opened ({error}): check its disk and its permissions."
        ) from None
    if journal != "wal":
        connection.close()
        raise MemoryLostError(f"{path} is on a disk without write-ahead logs: keep it on a local disk.")
    return connection


def _in_use(path: Path) -> MemoryLostError:
    return MemoryLostError(
        f"{path} is in use by another process: a member runs once. Stop the other one (`lsof {path}`)."
    )
