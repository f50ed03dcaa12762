# SPDX-License-Identifier: Apache-2.0
"""The live chain: blocks of models whose URIs a quorum can replace (ILiveChain)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from blockful_py.chain import abi, live_slots
from blockful_py.chain.contract import Contract
from blockful_py.types import (
    Action,
    Codec,
    Header,
    HeaderUpdate,
    ModelTransaction,
    NewBlock,
    Position,
    Receipt,
    RedactCall,
    Update,
    Uri,
)

READ_SIZE = 50
"""Transactions in one eth_call."""


@dataclass(frozen=True, slots=True)
class VersionEvent:
    """A logged version of a model; `block_number` is the node's."""

    position: Position
    version: int
    uri: Uri
    block_number: int
    transaction_hash: bytes


class LiveChainContract(Contract):
    """Adapter of LiveChain.  Every method raises NodeError when the node fails."""

    NAME: ClassVar[str] = "LiveChain"

    def quorum(self) -> bytes:
        """Address of the contract that checks certificates, 20 bytes."""
        quorum: bytes = self._read("quorum")
        return quorum

    def height(self) -> int:
        """Height of the newest block; 0 when there is only the genesis header."""
        height: int = self._read("height")
        return height

    def block_hash(self, height: int) -> bytes:
        """Hash over the fields of a block that never change.  Raises ContractError UnknownPosition."""
        block_hash: bytes = self._read("blockHash", height)
        return block_hash

    def header(self, height: int) -> Header:
        """Header at `height`.  Raises ContractError UnknownPosition."""
        return self.headers([height])[0]

    def headers(self, heights: Sequence[int]) -> tuple[Header, ...]:
        """Headers at `heights`, in batches.  Raises ContractError UnknownPosition."""
        values = self._read_many([("header", (height,)) for height in heights])
        return tuple(abi.to_header(height, value) for height, value in zip(heights, values, strict=True))

    def transaction(self, position: Position) -> ModelTransaction:
        """Transaction at `position`.  Raises ContractError UnknownPosition."""
        return abi.to_transaction(position, self._read("transaction", position.packed))

    def transactions(self, positions: Sequence[Position]) -> tuple[ModelTransaction, ...]:
        """Transactions at `positions`, in few calls.  Raises ContractError UnknownPosition."""
        groups = [positions[start : start + READ_SIZE] for start in range(0, len(positions), READ_SIZE)]
        answers = self._read_many([("transactions", ([each.packed for each in group],)) for group in groups])
        values = [value for answer in answers for value in answer]
        return tuple(abi.to_transaction(*pair) for pair in zip(positions, values, strict=True))

    def progress(self, proposal: bytes) -> tuple[int, int]:
        """Executed and total chunks of a proposal; (0, 0) before its first."""
        done, chunks = self._read("progress", proposal)
        return done, chunks

    def max_block_transactions(self) -> int:
        size: int = self._read("MAX_BLOCK_TRANSACTIONS")
        return size

    def append(self, block: NewBlock, action: Action) -> Receipt:
        """Appends a block of models.

        Raises:
            ContractError: the contract refused it, by the error's name in ILiveChain or IQuorum.
        """
        return self.send(self.append_data(block, action))

    def redact(
        self, updates: Sequence[Update], header_updates: Sequence[HeaderUpdate], action: Action
    ) -> Receipt:
        """Replaces models and re-opens the headers of their blocks.  Raises: as `append`."""
        return self.send(self.redact_data(updates, header_updates, action))

    def append_data(self, block: NewBlock, action: Action) -> bytes:
        """Call data of `append`."""
        return self.interface.encode("append", abi.new_block(block), abi.action(action))

    def redact_data(
        self, updates: Sequence[Update], header_updates: Sequence[HeaderUpdate], action: Action
    ) -> bytes:
        """Call data of `redact`."""
        values = [abi.update(each) for each in updates]
        headers = [abi.header_update(each) for each in header_updates]
        return self.interface.encode("redact", values, headers, abi.action(action))

    def append_leaf(self, block: NewBlock, chunk: int, chunks: int) -> bytes:
        """Leaf of `append(block)` in a certificate's content."""
        return self._leaf("append", chunk, chunks, abi.new_block_digest(block))

    def redact_leaf(
        self, updates: Sequence[Update], header_updates: Sequence[HeaderUpdate], chunk: int, chunks: int
    ) -> bytes:
        """Leaf of `redact(updates, header_updates)` in a certificate's content."""
        return self._leaf("redact", chunk, chunks, abi.redaction_digest(updates, header_updates))

    def published(self, first_block: int = 0) -> tuple[VersionEvent, ...]:
        """Version 0 of every model published since a block of the node, oldest first."""
        return tuple(
            VersionEvent(
                position=Position.unpack(event.arguments["position"]),
                version=0,
                uri=Uri(event.arguments["uri"], Codec(event.arguments["codec"])),
                block_number=event.block_number,
                transaction_hash=event.transaction_hash,
            )
            for event in self.events("ModelPublished", first_block)
        )

    def redactions(self, first_block: int = 0) -> tuple[VersionEvent, ...]:
        """Every replacement since a block of the node, oldest first."""
        return tuple(
            VersionEvent(
                position=Position.unpack(event.arguments["position"]),
                version=event.arguments["version"],
                uri=Uri(event.arguments["uri"], Codec(event.arguments["codec"])),
                block_number=event.block_number,
                transaction_hash=event.transaction_hash,
            )
            for event in self.events("ModelRedacted", first_block)
        )

    def executed(self, transaction_hash: bytes) -> RedactCall:
        """The call of `redact` in a transaction.

        Raises NodeError when the node has no such transaction, or one that did not call this contract.
        """
        arguments = self.called("redact", transaction_hash)
        return abi.to_redact_call(arguments)

    def _touched(self, data: bytes) -> tuple[int, ...]:
        return live_slots.touched(self.interface, data, self.height())
