# SPDX-License-Identifier: Apache-2.0
"""The journal's SQLite file: created atomically, checked on opening, never repaired."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from blockful_py.errors import RunError
from blockful_py.whole_file import sync

APPLICATION = 0x426C464A
"""SQLite's `application_id` of these files: "BlFJ"."""
VERSION = 2
BUSY_SECONDS = 10.0
ATTEMPTS, PAUSE = 3, 0.1
"""Attempts and pause in seconds of a check, because the file may change during it."""
SCHEMA = f"""
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
CREATE TABLE owner (run TEXT NOT NULL);
CREATE TABLE entry (number INTEGER PRIMARY KEY AUTOINCREMENT, content TEXT NOT NULL, digest BLOB NOT NULL);
CREATE TABLE body (step INTEGER PRIMARY KEY, content TEXT NOT NULL);
"""
ADVICE = (
    "It was left as it is. Restore it from a backup, or move it away (with its -wal file) and compare the "
    "chains with `blockful verify` and `blockful audit` before going on: a job may be half-done."
)


def create(path: Path, run: str) -> None:
    """Creates a run's empty journal in a new file.  Raises RunError if it cannot be written."""
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix="journal-") as folder:
            draft = Path(folder) / path.name
            with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
                connection.executescript(f"BEGIN; {SCHEMA} COMMIT;")
                connection.execute("INSERT INTO owner VALUES (?)", (run,))
                connection.execute("PRAGMA journal_mode = WAL")
            draft.chmod(0o600)
            sync(draft)
            path.hardlink_to(draft)
        sync(path.parent)
    except FileExistsError:
        pass  # another process created it in the meantime
    except (OSError, sqlite3.Error) as error:
        raise unwritten(path, error) from None


def connect(path: Path) -> sqlite3.Connection:
    """Opens a connection that syncs each transaction to disk.

    Raises RunError, and leaves the file unchanged, if it is damaged, foreign or of another version.
    """
    _check(path)
    try:
        connection = sqlite3.connect(
            _uri(path, "rw"), timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, uri=True
        )
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")
        connection.execute("PRAGMA foreign_keys = ON")
    except sqlite3.Error as error:
        raise RunError(f"{path} cannot be opened ({error}): check its disk and its permissions.") from None
    return connection


def broken(path: Path, what: object) -> RunError:
    """The error for a damaged or edited journal."""
    return RunError(f"{path} is damaged or was edited: {what}. {ADVICE}")


def unwritten(path: Path, error: Exception) -> RunError:
    reason = error.strerror if isinstance(error, OSError) else error
    return RunError(
        f"{path} cannot be written: {reason}; no step was taken beyond its entries. Make room or mend the "
        "disk, then run `blockful resume`."
    )


def _check(path: Path) -> None:
    for attempt in range(ATTEMPTS):
        try:
            _inspect(path)
        except (OSError, sqlite3.Error) as error:
            if attempt + 1 == ATTEMPTS:
                if _is_disk(error):
                    raise RunError(
                        f"{path} cannot be read: {error}; nothing was changed. Make room or mend the disk, "
                        "then try again."
                    ) from None
                raise RunError(f"{path} is damaged or no journal: {error}. {ADVICE}") from None
            time.sleep(PAUSE)
        else:
            return


def _is_disk(error: Exception) -> bool:
    """Whether the disk failed, or is too full for SQLite's additional files."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF
    return code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL)


def _inspect(path: Path) -> None:
    """Checks the file through SQLite alone, opened read-only.

    Opening and closing the file in any other way would release this process's locks on it.
    Raises OSError or sqlite3.Error for a damaged or foreign file, RunError for another version.
    """
    size = path.stat().st_size
    if not size:
        raise OSError("it is empty")
    with closing(sqlite3.connect(_uri(path, "ro"), timeout=BUSY_SECONDS, uri=True)) as connection:
        answers = [_one(connection, name) for name in ("integrity_check", "application_id", "user_version")]
        pages = int(_one(connection, "page_count")) * int(_one(connection, "page_size"))
    if answers[:2] != ["ok", APPLICATION]:
        raise OSError(f"a check of it said {str(answers)[:200]}")
    if not _has_log(path) and size != pages:
        raise OSError(f"it has {size} bytes, {pages} were expected")
    if answers[2] != VERSION:
        raise RunError(
            f"{path} is a journal of version {answers[2]}, this program knows version {VERSION}: use the "
            "version that made it."
        )


def _has_log(path: Path) -> bool:
    """Whether the write-ahead log holds data that the file itself may lack."""
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0


def _uri(path: Path, mode: str) -> str:
    return f"{path.absolute().as_uri()}?mode={mode}"


def _one(connection: sqlite3.Connection, pragma: str) -> Any:
    return connection.execute(f"PRAGMA {pragma}").fetchone()[0]
