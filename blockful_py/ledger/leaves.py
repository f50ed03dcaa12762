# SPDX-License-Identifier: Apache-2.0
"""Leaves of a certificate's content: one for each transaction that a decision allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from blockful_py.ledger.protocols import ArchiveLedger, LiveLedger
from blockful_py.types import ArchiveRecord, Bytes32, HeaderUpdate, Update


class ArchivedRecords(Protocol):
    """Records of one transaction to the archive, drafted or executed."""

    @property
    def expected_head(self) -> Bytes32: ...

    @property
    def timestamp(self) -> int: ...

    @property
    def records(self) -> Sequence[ArchiveRecord]: ...


class LiveUpdates(Protocol):
    """Updates of one transaction to the live chain, drafted or executed."""

    @property
    def updates(self) -> Sequence[Update]: ...

    @property
    def header_updates(self) -> Sequence[HeaderUpdate]: ...


def archive_leaves(archive: ArchiveLedger, chunks: Sequence[ArchivedRecords]) -> tuple[bytes, ...]:
    """One leaf for each `append` to the archive, in order."""
    return tuple(
        archive.append_leaf(chunk.expected_head, chunk.timestamp, chunk.records, number, len(chunks))
        for number, chunk in enumerate(chunks)
    )


def redaction_leaves(live: LiveLedger, chunks: Sequence[LiveUpdates]) -> tuple[bytes, ...]:
    """One leaf for each `redact` of the live chain, in order."""
    return tuple(
        live.redact_leaf(chunk.updates, chunk.header_updates, number, len(chunks))
        for number, chunk in enumerate(chunks)
    )
