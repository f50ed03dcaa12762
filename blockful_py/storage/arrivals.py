# SPDX-License-Identifier: Apache-2.0
"""Blocks that arrived for files that are not (yet) in the store.

    arrivals/<sender>/   a `BlockStore` of the blocks that this sender pushed

A sender is a key of the federation, or FETCHED for blocks that this machine requested itself.  The bytes of
each sender are bounded and expire; senders do not affect one another's blocks.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from blockful_py.errors import BlockNotFoundError, IntegrityError, StorageError
from blockful_py.storage.blockstore import BlockStore, readable_errors
from blockful_py.storage.cid import cid_string
from blockful_py.types import Uri

FOLDER = "arrivals"
"""Name of the folder within a store's folder."""
FETCHED = "fetched"
SENDER_BYTES = 4 * 2**30
"""Maximum bytes of one sender's blocks."""
LEAST = 2**14
"""Minimum bytes charged per block, since files are not free."""

Clock = Callable[[], float]


class Arrivals:
    """A folder of arrived blocks by sender; safe for several threads and processes."""

    def __init__(self, directory: Path, most: int = SENDER_BYTES, now: Clock = time.time) -> None:
        """Opens or creates `directory`, on the file system of the store that takes the blocks.

        `most` is the maximum bytes of one sender's blocks; `now` the clock of the file system.
        """
        self._directory = directory
        self._most = most
        self._now = now
        self._turn = threading.Lock()
        self._used: dict[str, int] = {}
        self._stores: dict[str, BlockStore] = {}
        with readable_errors(directory):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    def put(self, sender: str, uri: Uri, block: bytes) -> None:
        """Stores a block for `sender`; the caller has checked its hash.

        Raises StorageError if the sender has no room left.
        """
        store = self._of(sender)
        if not store.has(uri):
            self._take_room(sender, _charge(len(block)))
        if not store.put(uri, (block,)):
            store.renew(uri)

    def get(self, uri: Uri) -> bytes:
        """A verified block from any sender.  Raises BlockNotFoundError."""
        for store in self._all().values():
            with suppress(BlockNotFoundError, IntegrityError):
                return store.get(uri)
        raise BlockNotFoundError(f"block {cid_string(uri)} has not arrived.")

    def renew(self, sender: str, uri: Uri) -> bool:
        """Refreshes the age of a sender's block; returns whether it is here."""
        return self._of(sender).renew(uri)

    def give(self, uri: Uri, other: BlockStore) -> None:
        """Moves a block to a store on the same file system; does nothing if it is not here."""
        for store in self._all().values():
            if store.has(uri):
                store.move(uri, other)

    def make_room(self, sender: str, size: int) -> None:
        """Removes the oldest blocks of `sender` until `size` bytes fit."""
        store = self._of(sender)
        oldest = sorted(store.files(), key=lambda found: found[1].st_mtime)
        used = sum(_charge(status.st_size) for _, status in oldest)
        for uri, status in oldest:
            if used + size <= self._most:
                break
            store.remove(uri)
            used -= _charge(status.st_size)

    def expire(self, seconds: float) -> int:
        """Removes blocks that arrived or were refreshed more than `seconds` ago; returns their number."""
        removed, limit = 0, self._now() - seconds
        for store in self._all().values():
            store.clear_temporary(limit)
            for uri, status in store.files():
                if status.st_mtime < limit:
                    store.remove(uri)
                    removed += 1
        with self._turn:
            self._used.clear()
        return removed

    def used(self) -> dict[str, int]:
        """Bytes charged to each sender."""
        return {sender: _bytes_in(store) for sender, store in self._all().items()}

    def _take_room(self, sender: str, size: int) -> None:
        """Charges `size` bytes; recounts the files before a refusal, since others may have removed some."""
        with self._turn:
            used = self._used.get(sender)
            if used is None or used + size > self._most:
                used = _bytes_in(self._of(sender))
            if used + size > self._most:
                raise StorageError(
                    f"{sender} has {used} bytes of blocks here that belong to no kept file (maximum "
                    f"{self._most}): they go when their file is kept, or expire."
                )
            self._used[sender] = used + size

    def _of(self, sender: str) -> BlockStore:
        if sender not in self._stores:
            self._stores[sender] = BlockStore(self._directory / sender)
        return self._stores[sender]

    def _all(self) -> dict[str, BlockStore]:
        with readable_errors(self._directory):
            names = sorted(os.listdir(self._directory))  # noqa: PTH208
        return {name: self._of(name) for name in names}


def _charge(size: int) -> int:
    return max(size, LEAST)


def _bytes_in(store: BlockStore) -> int:
    return sum(_charge(status.st_size) for _, status in store.files())
