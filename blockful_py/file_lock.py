# SPDX-License-Identifier: Apache-2.0
"""File locks that one process holds at a time, with a note that names the holder."""

from __future__ import annotations

import fcntl
import os
import platform
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from blockful_py.closable import Closable
from blockful_py.errors import BlockfulError

PATIENCE, PAUSE = 0.5, 0.02
"""Seconds: total wait and retry interval, because `is_free` holds the lock for a moment."""
NOTE = 200
"""Maximum bytes read of the holder's note."""


class FileLock(Closable):
    """An exclusive lock on the file at `path`, created if missing; the lock ends with its process.

    The file is kept after release, so that all processes lock the same file.

    Attributes:
        made: this process created the file.
    """

    def __init__(self, path: Path, refusal: Callable[[str], BlockfulError]) -> None:
        """Acquires the lock.

        Raises `refusal(holder)` if another process holds it, OSError if the file cannot be created.
        """
        self._path = path
        self._refusal = refusal
        self._held = -1
        self.made = False
        limit = time.monotonic() + PATIENCE
        while self._held < 0:
            self._held = self._attempt(late=time.monotonic() > limit)
        since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        with suppress(OSError):  # a full disk: the lock holds without its note
            os.ftruncate(self._held, 0)
            os.pwrite(self._held, f"process {os.getpid()} on {platform.node()} since {since}\n".encode(), 0)

    @classmethod
    def is_free(cls, path: Path) -> bool:
        """Whether no process holds the lock of a file.  Raises OSError if the file cannot be read."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(descriptor)
        return True

    def discard(self) -> None:
        """Removes the file and releases the lock."""
        self._path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        if self._held >= 0:
            os.close(self._held)
            self._held = -1

    def _attempt(self, *, late: bool) -> int:
        """Tries once to lock; returns the descriptor, or -1 to retry.  Raises the refusal when `late`."""
        try:
            descriptor = self._opened()
        except FileExistsError:
            return -1
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(descriptor, self._path):
                taken, descriptor = descriptor, -1
                return taken
            self.made = False
        except BlockingIOError:
            if late:
                note = os.pread(descriptor, NOTE, 0).decode(errors="replace").strip()
                raise self._refusal(note or "another process") from None
            time.sleep(PAUSE)
        finally:
            if descriptor >= 0:
                os.close(descriptor)
        return -1

    def _opened(self) -> int:
        """Opens or creates the file.  Raises FileExistsError if another process creates it meanwhile."""
        try:
            return os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            self.made = True
            return descriptor


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether an open file is still the one at `path`; its holder may have removed it."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
