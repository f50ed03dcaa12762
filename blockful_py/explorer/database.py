# SPDX-License-Identifier: Apache-2.0
"""The SQLite file of the index: one writer, any number of readers."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

from blockful_py.errors import RunError

FORMAT = 11
"""Changes with the schema; a file of another format is rebuilt."""
REVISION = "revision"
"""Name of the counter that each change of the index increments."""


def create(path: Path) -> sqlite3.Connection:
    """The writer's connection; creates the file unless it already has this format.

    Raises RunError if the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = _connected(path)
        if connection.execute("PRAGMA user_version").fetchone()[0] == FORMAT:
            return connection
        connection.close()
        return recreate(path)
    except sqlite3.DatabaseError:
        return recreate(path)
    except OSError as error:
        raise RunError(f"{path} cannot be written ({error.strerror}): choose another --folder.") from None


def recreate(path: Path) -> sqlite3.Connection:
    """Replaces the index at `path` by an empty one; readers switch to it at their next query.

    Raises RunError if the file cannot be written.
    """
    try:
        for each in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
            each.unlink(missing_ok=True)
        connection = _connected(path)
        schema = files("blockful_py.explorer").joinpath("schema.sql").read_text(encoding="utf-8")
        connection.executescript(f"BEGIN; {schema} PRAGMA user_version = {FORMAT}; COMMIT;")
    except (OSError, sqlite3.Error) as error:
        raise RunError(f"{path} cannot be written ({error}): choose another --folder.") from None
    return connection


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")  # data lost in a crash is read again
    connection.execute("PRAGMA busy_timeout = 10000")
    return connection


@contextmanager
def change(connection: sqlite3.Connection) -> Iterator[None]:
    """A transaction that increments the revision."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        raise_counter(connection, REVISION, 1)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def counter(connection: sqlite3.Connection, name: str) -> int:
    found = connection.execute("SELECT value FROM counter WHERE name = ?", (name,)).fetchone()
    return int(found[0]) if found else 0


def raise_counter(connection: sqlite3.Connection, name: str, by: int) -> int:
    """Adds `by` to a counter and returns its new value."""
    connection.execute(
        "INSERT INTO counter VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = value + excluded.value",
        (name, by),
    )
    return counter(connection, name)


class IndexReader:
    """Reads the index on any thread, each query in its own transaction."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._local = threading.local()

    @contextmanager
    def moment(self) -> Iterator[sqlite3.Connection]:
        """A connection with a consistent view.  Raises sqlite3.Error while the index is being rebuilt."""
        connection = self._connection()
        connection.execute("BEGIN")
        try:
            yield connection
        finally:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")

    def rows(self, question: str, values: Mapping[str, Any] | tuple[Any, ...] = ()) -> list[sqlite3.Row]:
        with self.moment() as connection:
            return connection.execute(question, values).fetchall()

    def revision(self) -> int:
        with self.moment() as connection:
            return counter(connection, REVISION)

    def _connection(self) -> sqlite3.Connection:
        """This thread's connection; reopened if the file was replaced."""
        inode = self._path.stat().st_ino
        kept: tuple[int, sqlite3.Connection] | None = getattr(self._local, "kept", None)
        if kept is not None and kept[0] == inode:
            return kept[1]
        if kept is not None:
            kept[1].close()
        connection = sqlite3.connect(
            f"file:{self._path}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
        )
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA query_only = 1")
        self._local.kept = inode, connection
        return connection
