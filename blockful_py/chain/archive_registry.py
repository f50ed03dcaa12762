# SPDX-License-Identifier: Apache-2.0
"""The archive chain: an append-only list of records (IArchiveRegistry)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice
from typing import Any, ClassVar

from blockful_py.chain import abi
from blockful_py.chain.contract import CertifiedContract
from blockful_py.chain.logs import SettledBlock
from blockful_py.crypto import payload
from blockful_py.types import (
    Action,
    Address,
    ArchivedChunk,
    ArchiveRecord,
    Bytes32,
    Certificate,
    Receipt,
    StoredArchiveRecord,
)

READ_SIZE = 200
"""Records per eth_call."""


class ArchiveRegistryContract(CertifiedContract):
    """Adapter of ArchiveRegistry.  Every method raises NodeError if the node fails."""

    NAME: ClassVar[str] = "ArchiveRegistry"
    _first_head: bytes | None = None
    """Archive head before the first event read, if earlier events are skipped."""

    def continuing(self, mark: SettledBlock, head: Bytes32) -> ArchiveRegistryContract:
        """Like `after`, for a block at which the archive's head was `head`."""
        other = self.after(mark)
        other._first_head = head
        return other

    def length(self) -> int:
        """Number of records."""
        return self._number("length")

    def head(self) -> Bytes32:
        """Head of the hash chain."""
        return self._octets("head")

    def records(self, start: int, count: int) -> tuple[StoredArchiveRecord, ...]:
        """Reads records `start` to `start + count - 1`, in few calls.

        Raises ContractError UnknownRecord.
        """
        values = self._answers.each("records", range(start, start + count), self._stored_at)
        return tuple(abi.to_record(start + i, value) for i, value in enumerate(values))

    def _stored_at(self, indices: Sequence[int], block: str) -> list[Any]:
        """Reads records in the contract's form; `indices` ascend."""
        groups: list[tuple[int, int]] = []
        for index in indices:
            first, count = groups[-1] if groups else (index, 0)
            if index == first + count and 0 < count < READ_SIZE:
                groups[-1] = (first, count + 1)
            else:
                groups.append((index, 1))
        answers = self._read_many([("records", group) for group in groups], block)
        return [value for answer in answers for value in answer]

    def archived(self, start: int = 0) -> tuple[StoredArchiveRecord, ...]:
        """Logged records, oldest first, without the first `start` of those logged."""
        batches = (abi.logged_records(event.arguments) for event in self.events("Archived"))
        return tuple(islice(chain.from_iterable(batches), start, None))

    def appended(self) -> dict[bytes, tuple[Certificate, tuple[ArchivedChunk, ...]]]:
        """Each proposal's certificate and archived chunks, as the contract logged them."""
        head = self._first_head or payload.archive_genesis_head(self.chain_id, self.address)
        certificates: dict[bytes, Certificate] = {}
        chunks: dict[bytes, list[ArchivedChunk]] = {}
        proposal = b""
        for event in self.log():
            values = event.arguments
            if event.name == "ChunkExecuted":
                proposal = values["proposal"]
            elif event.name == "RecordsCertified":
                proposal = values["proposal"]
                certificates[proposal] = abi.to_certificate(values["certificate"])
            elif event.name == "Archived":
                records = abi.logged_records(values)
                chunks.setdefault(proposal, []).append(ArchivedChunk.of(head, records))
                head = values["head"]
        return {each: (found, tuple(chunks.get(each, ()))) for each, found in certificates.items()}

    def auditor_key(self, auditor: Address) -> tuple[int, int]:
        """An auditor's encryption key, affine; (0, 0) when not registered."""
        key_x, key_y = self._read("auditorKey", auditor)
        return key_x, key_y

    def append_data(
        self, expected_head: Bytes32, timestamp: int, records: Sequence[ArchiveRecord], action: Action
    ) -> bytes:
        """Call data of `append`."""
        values = [abi.record(each) for each in records]
        return self.interface.encode("append", expected_head, timestamp, values, abi.action(action))

    def set_auditor(self, auditor: Address, key_x: int, key_y: int, action: Action) -> Receipt:
        """Registers or replaces an auditor's key; (0, 0) removes it.

        Raises ContractError with the name of an error in IArchiveRegistry or IQuorum if the contract refuses.
        """
        return self._send("setAuditor", auditor, key_x, key_y, abi.action(action))

    def append_leaf(
        self,
        expected_head: Bytes32,
        timestamp: int,
        records: Sequence[ArchiveRecord],
        chunk: int,
        chunks: int,
    ) -> bytes:
        """Leaf of `append(expected_head, timestamp, records)` in a certificate's content."""
        return self._leaf("append", chunk, chunks, abi.archive_digest(expected_head, timestamp, records))

    def set_auditor_leaf(self, auditor: Address, key_x: int, key_y: int, chunk: int, chunks: int) -> bytes:
        """Leaf of `set_auditor(auditor, key_x, key_y)` in a certificate's content."""
        return self._leaf("setAuditor", chunk, chunks, abi.auditor_digest(auditor, key_x, key_y))
