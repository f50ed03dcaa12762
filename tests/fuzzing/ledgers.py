# SPDX-License-Identifier: Apache-2.0
"""Both chains in memory: the contracts' checks, and an alarm when the archive does not come first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from blockful_py.crypto import chameleon, eip712, merkle, payload
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.roster import Roster
from blockful_py.errors import ContractError, RefusedError
from blockful_py.ledger.signed import Executor, require_signed
from blockful_py.types import (
    Action,
    ArchiveReason,
    ArchiveRecord,
    Header,
    HeaderUpdate,
    ModelTransaction,
    NewBlock,
    Opening,
    Position,
    StoredArchiveRecord,
    Update,
)

EPOCH = 1
MAX_DRIFT = 900
"""Seconds that an entry's time may be ahead of the chain's."""


class ViolationError(AssertionError):
    """An invariant is broken."""


class Ledger:
    """A contract that executes chunks of certified proposals in order, each once (Certified.sol)."""

    def __init__(self, chain_id: int, roster: Roster, domain: eip712.Domain, now: int) -> None:
        self.chain_id = chain_id
        self.address = chain_id.to_bytes(20, "big")
        self.executed: list[tuple[bytes, bytes]] = []
        """Proposal and leaf of each action."""
        self._roster = roster
        self._domain = domain
        self._now = now
        self._progress: dict[bytes, tuple[int, int]] = {}

    @property
    def executor(self) -> Executor:
        return Executor(self.chain_id, self.address)

    def progress(self, proposal: bytes) -> tuple[int, int]:
        return self._progress.get(proposal, (0, 0))

    def _leaf(self, name: str, chunk: int, chunks: int, content: object) -> bytes:
        selector, digest = keccak(name.encode())[:4], keccak(repr(content).encode())
        return merkle.action_leaf(self.chain_id, self.address, selector, chunk, chunks, digest)

    def _allow(self, action: Action, leaf: bytes) -> None:
        certificate = action.certificate
        try:
            require_signed(certificate, self.executor, self._roster, self._domain)
        except RefusedError as error:
            raise self._revert("InvalidCertificate", str(error)) from None
        if certificate.epoch != EPOCH:
            raise self._revert("StaleEpoch")
        if not merkle.verify(certificate.content_hash, leaf, action.path):
            raise self._revert("NotCertified")
        done, chunks = self.progress(certificate.proposal)
        if action.chunks != (chunks or action.chunks or 1) or action.chunk != done:
            raise self._revert("ChunkOutOfOrder")

    def _count(self, action: Action, leaf: bytes) -> None:
        proposal = action.certificate.proposal
        self._progress[proposal] = (action.chunk + 1, action.chunks)
        self.executed.append((proposal, leaf))

    def _require(self, met: bool, name: str) -> None:
        if not met:
            raise self._revert(name)

    def _revert(self, name: str, detail: str = "") -> ContractError:
        return ContractError(type(self).__name__, name, {"detail": detail})


class MemoryArchive(Ledger):
    """ArchiveRegistry.sol in memory."""

    def __init__(self, chain_id: int, roster: Roster, domain: eip712.Domain, now: int) -> None:
        super().__init__(chain_id, roster, domain, now)
        self._records: list[StoredArchiveRecord] = []
        self._head = payload.archive_genesis_head(chain_id, self.address)

    def length(self) -> int:
        return len(self._records)

    def head(self) -> bytes:
        return self._head

    def records(self, start: int, count: int) -> Sequence[StoredArchiveRecord]:
        return self._records[start : start + count]

    def append_leaf(
        self,
        expected_head: bytes,
        timestamp: int,
        records: Sequence[ArchiveRecord],
        chunk: int,
        chunks: int,
    ) -> bytes:
        return self._leaf("append", chunk, chunks, (expected_head, timestamp, tuple(records)))

    def append(
        self, expected_head: bytes, timestamp: int, records: Sequence[ArchiveRecord], action: Action
    ) -> None:
        leaf = self.append_leaf(expected_head, timestamp, records, action.chunk, action.chunks)
        self._allow(action, leaf)
        self._require(expected_head == self._head, "HeadMismatch")
        latest = self._records[-1].timestamp if self._records else 0
        self._require(latest <= timestamp <= self._now + MAX_DRIFT, "TimestampOutOfRange")
        self.write(timestamp, records)
        self._count(action, leaf)

    def write(self, timestamp: int, records: Sequence[ArchiveRecord]) -> None:
        """Stores records without a certificate."""
        for record in records:
            self._head = payload.archive_head_step(self._head, self.length(), record, timestamp)
            self._records.append(StoredArchiveRecord(self.length(), record, timestamp))

    def holds(self, record: ArchiveRecord) -> bool:
        return any(stored.record == record for stored in self._records)


class MemoryLive(Ledger):
    """LiveChain.sol in memory; raises ViolationError for updates that the archive lacks."""

    def __init__(
        self, chain_id: int, roster: Roster, domain: eip712.Domain, now: int, archive: MemoryArchive
    ) -> None:
        super().__init__(chain_id, roster, domain, now)
        self._archive = archive
        self._hashes = [payload.genesis_block_hash(chain_id, self.address)]
        self._headers: list[Header] = []
        self._models: dict[Position, ModelTransaction] = {}

    def height(self) -> int:
        return len(self._headers)

    def block_hash(self, height: int) -> bytes:
        return self._hashes[height]

    def header(self, height: int) -> Header:
        return self._headers[height - 1]

    def headers(self, heights: Sequence[int]) -> Sequence[Header]:
        return [self.header(height) for height in heights]

    def transaction(self, position: Position) -> ModelTransaction:
        return self._models[position]

    def transactions(self, positions: Sequence[Position]) -> Sequence[ModelTransaction]:
        return [self._models[position] for position in positions]

    def append_leaf(self, block: NewBlock, chunk: int, chunks: int) -> bytes:
        return self._leaf("append", chunk, chunks, block)

    def redact_leaf(
        self, updates: Sequence[Update], header_updates: Sequence[HeaderUpdate], chunk: int, chunks: int
    ) -> bytes:
        return self._leaf("redact", chunk, chunks, (tuple(updates), tuple(header_updates)))

    def append(self, block: NewBlock, action: Action) -> None:
        leaf = self.append_leaf(block, action.chunk, action.chunks)
        self._allow(action, leaf)
        self._require(block.parent_hash == self._hashes[-1], "ParentMismatch")
        earliest = self._headers[-1].timestamp if self._headers else 0
        self._require(earliest <= block.timestamp <= self._now + MAX_DRIFT, "TimestampOutOfRange")
        self.write(block)
        self._count(action, leaf)

    def write(self, block: NewBlock) -> None:
        """Stores a block without a certificate."""
        height, leaves = self.height() + 1, []
        for index, each in enumerate(block.publications):
            position = Position(height, index)
            content = payload.transaction_payload(
                each.uri, each.owner, payload.references_hash(each.references)
            )
            self._require(self._opens(position, 0, content, each.ch, each.opening), "InvalidOpening")
            self._archived(ArchiveRecord(position, 0, ArchiveReason.PUBLISHED, each.uri))
            self._models[position] = ModelTransaction(
                position, each.ch, each.opening, each.uri, 0, EPOCH, each.owner, True, each.references
            )
            leaves.append(payload.block_leaf(position, each.ch))
        root, count = merkle.root(leaves), len(block.publications)
        content = payload.header_payload(block.parent_hash, root, block.timestamp, count)
        place = Position.of_header(height)
        self._require(self._opens(place, 0, content, block.ch, block.opening), "InvalidOpening")
        self._headers.append(
            Header(height, block.parent_hash, block.ch, block.opening, 0, EPOCH, root, block.timestamp, count)
        )
        self._hashes.append(payload.block_hash(block.parent_hash, block.ch, root, block.timestamp))

    def redact(
        self, updates: Sequence[Update], header_updates: Sequence[HeaderUpdate], action: Action
    ) -> None:
        leaf = self.redact_leaf(updates, header_updates, action.chunk, action.chunks)
        self._allow(action, leaf)
        for each in updates:
            held = self._models[each.position]
            self._require(each.version == held.version + 1, "VersionMismatch")
            content = payload.transaction_payload(
                each.uri, held.owner, payload.references_hash(held.references)
            )
            opens = self._opens(each.position, each.version, content, held.ch, each.opening)
            self._require(opens, "InvalidOpening")
        for one in header_updates:
            header = self.header(one.height)
            self._require(one.version == header.version + 1, "VersionMismatch")
            content = payload.header_payload(
                header.parent_hash, header.merkle_root, header.timestamp, header.tx_count
            )
            place = Position.of_header(one.height)
            self._require(self._opens(place, one.version, content, header.ch, one.opening), "InvalidOpening")
        for each in updates:
            held = self._models[each.position]
            self._archived(ArchiveRecord(each.position, held.version, ArchiveReason.SUPERSEDED, held.uri))
            self._models[each.position] = replace(held, uri=each.uri, version=each.version)
        for one in header_updates:
            self._headers[one.height - 1] = replace(self.header(one.height), version=one.version)
        self._count(action, leaf)

    def _archived(self, record: ArchiveRecord) -> None:
        if not self._archive.holds(record):
            raise ViolationError(f"the live chain holds what the archive does not: {record}")

    def _opens(self, position: Position, version: int, content: bytes, ch: int, opening: Opening) -> bool:
        label = chameleon.label(self.chain_id, self.address, position.packed)
        message = chameleon.message(version, content)
        return chameleon.verify(self._roster.group_key, label, message, ch, opening)


class LateArchive:
    """The archive at a node that shows executed transactions only once it is `current`."""

    def __init__(self, archive: MemoryArchive) -> None:
        self.current = False
        self._archive = archive

    def __getattr__(self, name: str) -> object:
        return getattr(self._archive, name)

    def progress(self, proposal: bytes) -> tuple[int, int]:
        return self._archive.progress(proposal) if self.current else (0, 0)
