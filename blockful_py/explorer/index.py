# SPDX-License-Identifier: Apache-2.0
"""The index of a federation: follows its contracts' events, and reads the files that they name.

It reads each event once.  If a contract's log no longer begins with the events already read, as after a
reorganisation, the index is rebuilt.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from blockful_py.closable import Closable
from blockful_py.errors import BlockfulError
from blockful_py.explorer.database import change, create, recreate
from blockful_py.explorer.documents import DocumentReader
from blockful_py.explorer.events import apply
from blockful_py.explorer.sources import ChainEvent, IndexSources, SourceLog
from blockful_py.pipeline.run.progress import Progress, Silent
from blockful_py.types import Bytes32

BATCH = 5_000
"""Events per transaction of the index."""
RECEIPTS = 500
POLL_SECONDS = 1.0

_log = logging.getLogger(__name__)


class RecordIndex(Closable):
    """Writes the index; not thread-safe."""

    def __init__(self, path: Path, sources: IndexSources) -> None:
        """Opens or creates the index.  Raises RunError if the file cannot be written."""
        self._path = path
        self._sources = sources
        self._connection = create(path)
        self._seen: dict[str, tuple[Sequence[ChainEvent], int, bytes]] = {}

    def follow(self, progress: Progress | None = None) -> int:
        """Reads everything new; returns the number of events, receipts and files.

        Raises NodeError if a node fails; data read before that is kept.
        """
        shown = progress or Silent()
        done = sum(self._follow(source, shown) for source in self._sources.logs)
        documents = DocumentReader(self._connection, self._sources.files)
        for title, unit, left, some in (
            ("read receipts", "receipts", self._unread_receipts(), self._receipts),
            ("read model nodes and requests", "files", documents.left(), documents.read_some),
        ):
            if left:
                with shown.stage(title, left, unit) as advance:
                    while step := some():
                        advance(step)
                        done += step
        return done

    def close(self) -> None:
        self._connection.close()

    def _follow(self, source: SourceLog, shown: Progress) -> int:
        log = source.events.log()
        read, digest = self._read_before(source, log)
        total = len(log)
        if read < total:
            with shown.stage(f"index events ({source.name})", total - read, "events") as advance:
                for start in range(read, total, BATCH):
                    part = log[start : min(start + BATCH, total)]
                    digest = _digest(part, digest)
                    self._take_up(source, part, start + len(part), digest)
                    advance(len(part))
        self._seen[source.name] = log, total, digest
        return total - read

    def _take_up(self, source: SourceLog, part: Sequence[ChainEvent], read: int, digest: Bytes32) -> None:
        """Adds events; `read` and `digest` are of all events up to the last one in `part`."""
        with change(self._connection):
            apply(self._connection, source, part)
            self._connection.execute(
                "INSERT OR REPLACE INTO followed VALUES (?, ?, ?)", (source.name, read, digest)
            )

    def _read_before(self, source: SourceLog, log: Sequence[ChainEvent]) -> tuple[int, bytes]:
        """Number of events already in the index, and their digest; rebuilds the index if they differ."""
        seen = self._seen.get(source.name)
        if seen is not None and seen[0] is log and len(log) >= seen[1]:
            return seen[1], seen[2]
        row = self._connection.execute(
            "SELECT events, digest FROM followed WHERE source = ?", (source.name,)
        ).fetchone()
        if row is None:
            return 0, b""
        read, digest = row
        if len(log) >= read and _digest(log[:read], b"") == digest:
            return read, digest
        self._connection.close()
        self._connection = recreate(self._path)
        self._seen.clear()
        for other in self._sources.logs:
            if other.name == source.name:
                break
            self._follow(other, Silent())
        return 0, b""

    def _unread_receipts(self) -> int:
        wanted = ", ".join("?" for _ in self._sources.receipts)
        row = self._connection.execute(
            f"SELECT count(*) FROM sent WHERE gas IS NULL AND chain IN ({wanted})",  # noqa: S608
            tuple(self._sources.receipts),
        ).fetchone()
        return int(row[0])

    def _receipts(self) -> int:
        done = 0
        for chain, source in self._sources.receipts.items():
            hashes = [
                row[0]
                for row in self._connection.execute(
                    f"SELECT hash FROM sent WHERE gas IS NULL AND chain = ? LIMIT {RECEIPTS}",  # noqa: S608
                    (chain,),
                )
            ]
            if not hashes:
                continue
            found = source.receipts(hashes)
            with change(self._connection):
                self._connection.executemany(
                    "UPDATE sent SET gas = ?, time = ? WHERE chain = ? AND hash = ?",
                    [
                        (each.gas if each else 0, each.time if each else None, chain, sent)
                        for sent, each in zip(hashes, found, strict=True)
                    ],
                )
            done += len(hashes)
        return done


def _digest(events: Sequence[ChainEvent], before: bytes) -> bytes:
    """Digest of a sequence of events, continued from the digest `before`."""
    digest = before
    for event in events:
        digest = hashlib.sha256(digest + event.transaction_hash + event.name.encode()).digest()
    return digest


class IndexThread(Closable):
    """Keeps the index up to date on its own thread."""

    def __init__(
        self, index: RecordIndex, changed: Callable[[], object], progress: Progress | None = None
    ) -> None:
        """Prepares the thread.

        It calls `changed` whenever the index has changed.  `progress` shows the first reading of the record.
        """
        self._index = index
        self._changed = changed
        self._progress = progress
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="index", daemon=True)
        self.problem: str | None = None
        self.followed: float | None = None

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        self._index.close()

    def _run(self) -> None:
        while not self._stopping.is_set():
            before = self.problem
            try:
                done = self._index.follow(self._progress)
                self._progress = None
                self.problem, self.followed = None, time.time()
            except (BlockfulError, sqlite3.Error) as error:
                done, self.problem = 0, str(error)
                if before != self.problem:
                    _log.warning("index: %s", error)
            if done or before != self.problem:
                self._changed()
            self._stopping.wait(POLL_SECONDS)
