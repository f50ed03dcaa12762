# SPDX-License-Identifier: Apache-2.0
"""Drafts proposals: chameleon hashes and blocks for new models, replacements of published ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from blockful_py.committee.proposals import (
    ArchiveChunk,
    DraftChunk,
    HeaderTarget,
    PublicationProposal,
    RedactionDraft,
    Target,
)
from blockful_py.committee.protocols import Clock
from blockful_py.crypto import chameleon, merkle, payload
from blockful_py.crypto.keccak import keccak, words
from blockful_py.ledger.protocols import MAX_BLOCK_MODELS, ArchiveLedger, LiveLedger
from blockful_py.types import (
    Address,
    ArchiveReason,
    ArchiveRecord,
    NewBlock,
    Opening,
    Point,
    Position,
    Publication,
    Uri,
)


@dataclass(frozen=True, slots=True)
class NewModel:
    """A model to be published in the next block."""

    name: str
    uri: Uri
    owner: Address
    references: tuple[Position, ...]


@dataclass(frozen=True, slots=True)
class Replacement:
    """A model on the live chain and its next URI."""

    position: Position
    uri: Uri


class Proposer:
    """Drafts proposals from the current state of the chains.

    `chunk_models`: maximum number of models or records in one transaction.
    """

    def __init__(
        self,
        live: LiveLedger,
        archive: ArchiveLedger,
        group_key: Point,
        epoch: int,
        chunk_models: int,
    ) -> None:
        """Drafts for one epoch."""
        self._live = live
        self._archive = archive
        self._group_key = group_key
        self._epoch = epoch
        self._chunk = chunk_models

    def publication(self, models: Sequence[NewModel], timestamp: int) -> PublicationProposal:
        """The next block, with a chameleon hash for each model and for the header.

        Its time is `timestamp` (seconds), or the time of the latest archive record if that is later: the
        clocks of two leaders differ, and both chains refuse times before their latest entry.
        """
        height = self._live.height() + 1
        parent = self._live.block_hash(height - 1)
        timestamp = max(timestamp, self._archived_until())
        publications = []
        for index, model in enumerate(models):
            references = tuple(sorted(model.references))
            content = payload.transaction_payload(model.uri, model.owner, payload.references_hash(references))
            ch, opening = self._hash(Position(height, index), content)
            publications.append(Publication(ch, opening, model.uri, model.owner, references))
        leaves = [
            payload.block_leaf(Position(height, index), publication.ch)
            for index, publication in enumerate(publications)
        ]
        content = payload.header_payload(parent, merkle.root(leaves), timestamp, len(publications))
        ch, opening = self._hash(Position.of_header(height), content)
        block = NewBlock(parent, timestamp, ch, opening, tuple(publications))
        records = [
            ArchiveRecord(Position(height, index), 0, ArchiveReason.PUBLISHED, model.uri)
            for index, model in enumerate(models)
        ]
        return PublicationProposal(
            self._identity("publish", [height, *(p.ch for p in publications)]),
            self._epoch,
            block,
            self._archive_chunks(records, timestamp),
        )

    def redaction(self, replacements: Sequence[Replacement], timestamp: int) -> RedactionDraft:
        """A draft that replaces the models of `replacements` and re-opens the headers of their blocks.

        Its time is `timestamp` (seconds), or the time of the latest archive record if that is later.  Another
        time or archive head makes it another proposal.  Members approve one content for each proposal, and a
        failed leader must not prevent the next one from proposing the same nodes.
        """
        ordered = sorted(replacements, key=lambda replacement: replacement.position)
        targets = []
        transactions = self._live.transactions([replacement.position for replacement in ordered])
        for replacement, current in zip(ordered, transactions, strict=True):
            targets.append(
                Target(
                    replacement.position,
                    current.ch,
                    current.owner,
                    payload.references_hash(current.references),
                    current.uri,
                    replacement.uri,
                    current.version + 1,
                )
            )
        records = [
            ArchiveRecord(t.position, t.version - 1, ArchiveReason.SUPERSEDED, t.old_uri) for t in targets
        ]
        timestamp = max(timestamp, self._archived_until())
        archive = self._archive_chunks(records, timestamp)
        identity = [part for t in targets for part in (t.position.packed, t.version, t.uri.digest)]
        return RedactionDraft(
            self._identity("redact", [*identity, timestamp, archive[0].expected_head]),
            self._epoch,
            tuple(self._draft_chunks(targets)),
            archive,
        )

    def _archived_until(self) -> int:
        """Time of the latest archive record, in seconds; 0 without records.

        Nothing on the live chain is later, because the archive is written first.
        """
        length = self._archive.length()
        return self._archive.records(length - 1, 1)[0].timestamp if length else 0

    def _draft_chunks(self, targets: Sequence[Target]) -> Iterator[DraftChunk]:
        chunk: list[Target] = []
        heights: list[int] = []
        for height, group in groupby(targets, key=lambda target: target.position.height):
            block = list(group)
            if chunk and len(chunk) + len(block) > self._chunk:
                yield DraftChunk(tuple(chunk), tuple(map(self._header_target, heights)))
                chunk, heights = [], []
            chunk.extend(block)
            heights.append(height)
        if chunk:
            yield DraftChunk(tuple(chunk), tuple(map(self._header_target, heights)))

    def _header_target(self, height: int) -> HeaderTarget:
        header = self._live.header(height)
        content = payload.header_payload(
            header.parent_hash, header.merkle_root, header.timestamp, header.tx_count
        )
        return HeaderTarget(height, header.ch, content, header.version + 1)

    def _archive_chunks(self, records: Sequence[ArchiveRecord], timestamp: int) -> tuple[ArchiveChunk, ...]:
        head, length = self._archive.head(), self._archive.length()
        chunks = []
        for start in range(0, len(records), self._chunk):
            part = tuple(records[start : start + self._chunk])
            chunks.append(ArchiveChunk(head, timestamp, part))
            for record in part:
                head = payload.archive_head_step(head, length, record, timestamp)
                length += 1
        return tuple(chunks)

    def _hash(self, position: Position, content: bytes) -> tuple[int, Opening]:
        label = chameleon.label(self._live.chain_id, self._live.address, position.packed)
        return chameleon.hash_message(self._group_key, label, chameleon.message(0, content))

    def _identity(self, kind: str, parts: Sequence[int | bytes]) -> bytes:
        return keccak(kind.encode() + words(self._live.chain_id, self._live.address, self._epoch, *parts))


def transaction_bytes(model: NewModel) -> int:
    """Bytes of a model's publication in the call data: 8 words, and one for each reference."""
    return 32 * (8 + len(model.references))


class Packager:
    """Fills blocks in order, at least `interval` seconds apart on `clock`."""

    def __init__(self, interval: float, block_bytes: int, clock: Clock) -> None:
        self._interval = interval
        self._block_bytes = block_bytes
        self._clock = clock
        self._last: int | None = None

    def blocks(self, models: Sequence[NewModel]) -> Iterator[tuple[int, tuple[NewModel, ...]]]:
        """Yields the time (seconds) and the models of each block when it is due."""
        waiting: list[NewModel] = []
        size = 0
        for model in models:
            grown = size + transaction_bytes(model)
            if waiting and (grown > self._block_bytes or len(waiting) == MAX_BLOCK_MODELS):
                yield self._due(), tuple(waiting)
                waiting, grown = [], transaction_bytes(model)
            waiting.append(model)
            size = grown
        if waiting:
            yield self._due(), tuple(waiting)

    def _due(self) -> int:
        if self._last is not None:
            self._clock.wait_until(self._last + self._interval)
        self._last = self._clock.now()
        return self._last
