# SPDX-License-Identifier: Apache-2.0
"""A run's own chains, which an explorer runs and other commands use meanwhile as its guests.

chains.json      URLs of the nodes, as long as the explorer shares them
chains.guests    shared lock of all guests; the explorer takes it exclusively before it ends
"""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path

from blockful_py.bounded_json import parse_json
from blockful_py.closable import Closable
from blockful_py.whole_file import write_whole

URLS = "chains.json"
GUESTS = "chains.guests"


class SharedChains(Closable):
    """Tells other commands the chains' URLs.  Closing it waits until no command uses the chains."""

    def __init__(self, databases: Path, live: str, archive: str) -> None:
        """Shares the chains.  Raises RunError when the folder cannot be written."""
        self._path = databases / URLS
        self._guests = databases / GUESTS
        write_whole(self._path, json.dumps({"live": live, "archive": archive}))

    def close(self) -> None:
        self._path.unlink(missing_ok=True)
        descriptor = _opened(self._guests)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        finally:
            os.close(descriptor)


class ChainGuest(Closable):
    """A command that uses the chains of an explorer.

    Attributes:
        live, archive: URLs of the nodes.
    """

    def __init__(self, databases: Path) -> None:
        """Takes the guests' lock.  Raises LookupError if no explorer shares the chains, or it is ending."""
        self._held = -1
        try:
            self._held = _opened(databases / GUESTS)
            fcntl.flock(self._held, fcntl.LOCK_SH | fcntl.LOCK_NB)
            urls = parse_json((databases / URLS).read_bytes())
            self.live, self.archive = str(urls["live"]), str(urls["archive"])
        except (OSError, ValueError, TypeError, KeyError):
            self.close()
            raise LookupError("nobody shares these chains") from None

    def close(self) -> None:
        if self._held >= 0:
            os.close(self._held)
            self._held = -1


def forget(databases: Path) -> None:
    """Removes the URLs that a killed explorer left; called by the chains' present owner."""
    (databases / URLS).unlink(missing_ok=True)


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
