# SPDX-License-Identifier: Apache-2.0
"""Lets the participants of one machine work one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from blockful_py.errors import RunError, SettingsError
from blockful_py.file_lock import FileLock


@contextmanager
def turn_of(path: str | None) -> Iterator[bool]:
    """Yields whether it is this process's turn, and holds the lock file `path` meanwhile.

    Without a file it is always its turn.  Raises SettingsError if the file cannot be created.
    """
    if path is None:
        yield True
        return
    lock = _taken(Path(path))
    try:
        yield lock is not None
    finally:
        if lock is not None:
            lock.close()


def _taken(path: Path) -> FileLock | None:
    try:
        return FileLock(path, RunError) if FileLock.is_free(path) else None
    except RunError:  # another process took it first
        return None
    except OSError as error:
        raise SettingsError(
            f"limits.toml: turn names {path}, which cannot be used ({error.strerror}): name a file in a "
            "folder that this participant may write to."
        ) from None
