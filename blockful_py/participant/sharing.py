# SPDX-License-Identifier: Apache-2.0
"""Shares a machine with others: the cores that work may use, and one participant at work at a time."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from blockful_py.errors import RunError, SettingsError
from blockful_py.file_lock import FileLock


class Cores:
    """The cores that this process may use."""

    def __init__(self) -> None:
        self._all = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []

    def limit(self, count: int | None) -> None:
        """Limits this thread, and processes it starts later, to `count` cores; None lifts the limit.

        Raises SettingsError on systems without CPU affinity.
        """
        if self._all:
            os.sched_setaffinity(0, random.sample(self._all, min(count or len(self._all), len(self._all))))
        elif count is not None:
            raise SettingsError("limits.toml: only Linux keeps work to a number of cores: leave `cores` out.")


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
