# SPDX-License-Identifier: Apache-2.0
"""The archive's records, of which only new ones are read again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from blockful_py.crypto import payload
from blockful_py.errors import NodeError
from blockful_py.record.chain_readers import ArchiveChainReader
from blockful_py.types import StoredArchiveRecord

ATTEMPTS = 5
"""Records may arrive while the others are read."""

Source = Callable[[int, int], Sequence[StoredArchiveRecord]]
"""Returns records from one index on, that many."""


class ArchiveReader:
    """Reads the archive's records as they were logged, and as the contract stores them where logs are gone.

    The archive's head is a hash chain over all records: what hashes to it is what the contract stores, and
    what was read before is unchanged where the head continues it.
    """

    def __init__(self, archive: ArchiveChainReader) -> None:
        self._archive = archive
        self._reading = threading.Lock()
        self._block: str | None = None
        self._begin()

    def _begin(self) -> None:
        self._head = payload.archive_genesis_head(self._archive.chain_id, self._archive.address)
        self._records: tuple[StoredArchiveRecord, ...] = ()

    @property
    def contract(self) -> ArchiveChainReader:
        return self._archive

    def read(self) -> tuple[StoredArchiveRecord, ...]:
        """All records, oldest first.  Raises NodeError when they do not hash to the archive's head."""
        with self._reading:
            block = self._archive.newest_block()
            if block != self._block:
                self._read_on()
                self._block = block
            return self._records

    def _read_on(self) -> None:
        for _ in range(ATTEMPTS):
            if self._adds(self._archive.logged) or self._adds(self._archive.records):
                return
            self._begin()
        raise NodeError(
            "the archive's records do not hash to its head: use another node of the archive chain."
        )

    def _adds(self, records: Source) -> bool:
        """Adds the new records if the archive's head is over all of them then; returns whether it is."""
        length, known, head = self._archive.length(), len(self._records), self._head
        added = tuple(records(known, length - known)) if length > known else ()
        for each in added:
            head = payload.archive_head_step(head, each.index, each.record, each.timestamp)
        if length < known or head != self._archive.head():
            return False
        self._head, self._records = head, self._records + added
        return True
