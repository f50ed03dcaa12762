# SPDX-License-Identifier: Apache-2.0
"""Leaves of a certificate's content: one for each transaction that a decision allows."""

from __future__ import annotations

from collections.abc import Sequence

from blockful_py.committee.proposals import ArchiveChunk, RedactionChunk
from blockful_py.committee.protocols import ArchiveLedger, LiveLedger
from blockful_py.types import ArchivedChunk, RedactedChunk


def archive_leaves(
    archive: ArchiveLedger, chunks: Sequence[ArchiveChunk | ArchivedChunk]
) -> tuple[bytes, ...]:
    """One leaf for each `append` to the archive, in order."""
    return tuple(
        archive.append_leaf(chunk.expected_head, chunk.timestamp, chunk.records, number, len(chunks))
        for number, chunk in enumerate(chunks)
    )


def redaction_leaves(live: LiveLedger, chunks: Sequence[RedactionChunk | RedactedChunk]) -> tuple[bytes, ...]:
    """One leaf for each `redact` of the live chain, in order."""
    return tuple(
        live.redact_leaf(chunk.updates, chunk.header_updates, number, len(chunks))
        for number, chunk in enumerate(chunks)
    )
