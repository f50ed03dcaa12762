# SPDX-License-Identifier: Apache-2.0
"""Proposals for a committee: a block of new models, or the replacement of models.

Both write to the archive first.  The certificate's content covers the chunks for both chains.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from blockful_py.crypto import chameleon, payload
from blockful_py.crypto.threshold.messages import Task
from blockful_py.types import (
    Address,
    ArchiveRecord,
    Bytes32,
    HeaderUpdate,
    NewBlock,
    Opening,
    Position,
    Update,
    Uri,
)


@dataclass(frozen=True, slots=True)
class ArchiveChunk:
    """Records for one transaction to the archive; `timestamp` in seconds."""

    expected_head: Bytes32
    timestamp: int
    records: tuple[ArchiveRecord, ...]


@dataclass(frozen=True, slots=True)
class PublicationProposal:
    """A block for the live chain, and the records that precede it on the archive chain."""

    proposal: Bytes32
    epoch: int
    block: NewBlock
    archive: tuple[ArchiveChunk, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """A model to replace: its unchanged `ch`, `owner`, `references_hash`, its old URI, and the new values."""

    position: Position
    ch: int
    owner: Address
    references_hash: Bytes32
    old_uri: Uri
    uri: Uri
    version: int


@dataclass(frozen=True, slots=True)
class HeaderTarget:
    """A block header to re-open for its next version."""

    height: int
    ch: int
    payload: Bytes32
    version: int


@dataclass(frozen=True, slots=True)
class DraftChunk:
    """Targets for one transaction to the live chain; blocks are never split between chunks."""

    targets: tuple[Target, ...]
    headers: tuple[HeaderTarget, ...]


@dataclass(frozen=True, slots=True)
class RedactionDraft:
    """Replacements without their openings."""

    proposal: Bytes32
    epoch: int
    chunks: tuple[DraftChunk, ...]
    archive: tuple[ArchiveChunk, ...]

    def digest(self) -> Bytes32:
        """sha2-256 over every field; a member approves one draft for each proposal."""
        return hashlib.sha256(repr(self).encode()).digest()


@dataclass(frozen=True, slots=True)
class RedactionChunk:
    """Replacements with their openings, for one transaction to the live chain."""

    updates: tuple[Update, ...]
    header_updates: tuple[HeaderUpdate, ...]


def opening_tasks(draft: RedactionDraft, chain_id: int, contract: Address) -> tuple[Task, ...]:
    """The collisions for a draft: chunk by chunk, targets first, then headers."""
    tasks: list[Task] = []
    for chunk in draft.chunks:
        for target in chunk.targets:
            content = payload.transaction_payload(target.uri, target.owner, target.references_hash)
            tasks.append(
                Task(
                    chameleon.label(chain_id, contract, target.position.packed),
                    chameleon.message(target.version, content),
                    target.ch,
                )
            )
        for header in chunk.headers:
            tasks.append(
                Task(
                    chameleon.label(chain_id, contract, Position.of_header(header.height).packed),
                    chameleon.message(header.version, header.payload),
                    header.ch,
                )
            )
    return tuple(tasks)


def with_openings(draft: RedactionDraft, openings: tuple[Opening, ...]) -> tuple[RedactionChunk, ...]:
    """The draft's chunks with `openings`, in the order of `opening_tasks`."""
    remaining = iter(openings)
    chunks = []
    for chunk in draft.chunks:
        updates = tuple(
            Update(target.position, target.version, target.uri, next(remaining)) for target in chunk.targets
        )
        headers = tuple(
            HeaderUpdate(header.height, header.version, next(remaining)) for header in chunk.headers
        )
        chunks.append(RedactionChunk(updates, headers))
    return tuple(chunks)
