# SPDX-License-Identifier: Apache-2.0
"""Reads the archive's records; hashes only new ones."""

from __future__ import annotations

import threading

from blockful_py.crypto import payload
from blockful_py.errors import NodeError
from blockful_py.record.chain_readers import NONE, ArchiveChainReader, SeenEvents
from blockful_py.types import StoredArchiveRecord

ATTEMPTS = 5
"""Attempts to read events and head together, since records may arrive in between."""


class ArchiveReader:
    """Reads the archive's records from its log.

    The archive's head is a hash chain over all records: if logged records hash to it, the contract
    stores the same records; if the head continues earlier records, they are unchanged.
    """

    def __init__(self, archive: ArchiveChainReader) -> None:
        self._archive = archive
        self._reading = threading.Lock()
        self._seen = NONE
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
            self._catch_up()
            return self._records

    def require_another_look(self) -> None:
        """Reads the archive again, through another node if several are configured.

        Raises NodeError unless it has the same records there, plus any that are new.
        """
        other = self._archive.by_another_node()
        with self._reading:
            self._catch_up()
            count, head = len(self._records), self._head
        for _ in range(ATTEMPTS):
            since = [each for each in other.archived() if each.index >= count]
            if payload.archive_head(head, since) == other.head():
                return
        raise NodeError(
            f"the nodes at {self._archive.url} and {other.url} have different records of the archive: see "
            "which of them is of another chain, or lags."
        )

    def _catch_up(self) -> None:
        log = self._archive.log()
        if not self._seen.are_all(log):
            seen = SeenEvents.of(log)
            self._read_on()
            self._seen = seen

    def _read_on(self) -> None:
        for _ in range(ATTEMPTS):
            if self._adds():
                return
            self._begin()
        raise NodeError(
            f"the archive's records do not hash to its head at {self._archive.url}: use another node of the "
            "archive chain."
        )

    def _adds(self) -> bool:
        """Adds the new records if the archive's head covers exactly them; returns whether it does."""
        added = tuple(self._archive.archived(len(self._records)))
        head = payload.archive_head(self._head, added)
        if head != self._archive.head():
            return False
        self._head, self._records = head, self._records + added
        return True
