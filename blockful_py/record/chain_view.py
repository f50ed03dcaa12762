# SPDX-License-Identifier: Apache-2.0
"""A snapshot of the live chain, read once: headers, blocks, group keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from typing import Protocol, TypeVar

from blockful_py.crypto.roster import Roster
from blockful_py.errors import ChainError, NodeError, VerificationError
from blockful_py.ledger.protocols import MAX_BLOCK_MODELS, LiveReader
from blockful_py.types import Address, Bytes32, Header, ModelTransaction, Point, Position

TOGETHER = 100
"""Blocks whose transactions are read in one go."""


class Rosters(Protocol):
    """The source of an epoch's group key."""

    def roster(self, epoch: int) -> tuple[Roster, int]: ...


class ChainView:
    """A cache of the chain that never expires: make a new one after the chain has changed."""

    def __init__(self, live: LiveReader, rosters: Rosters) -> None:
        self.live = live
        self._rosters = rosters
        self._height = 0
        self._read_rosters: dict[int, tuple[Roster, int]] = {}
        self._headers: list[Header] = []
        self._block_hashes: dict[int, bytes] = {}
        self._blocks: dict[int, tuple[ModelTransaction, ...]] = {}

    def positions(self) -> Iterator[Position]:
        """Every model's position; for a header with an impossible count, the header's own position."""
        for height in range(1, self.live.height() + 1):
            count = self.header(height).tx_count
            if not 1 <= count <= MAX_BLOCK_MODELS:
                yield Position.of_header(height)
                continue
            for index in range(count):
                yield Position(height, index)

    def header(self, height: int) -> Header:
        """The header at a height from 1 to the chain's."""
        if len(self._headers) < height:
            self._height = self.live.height()
            self._headers += self.live.headers(range(len(self._headers) + 1, self._height + 1))
        return self._headers[height - 1]

    def read_all(self) -> None:
        """Reads all blocks' transactions; skips unreadable blocks, whose errors `block` raises."""
        counted = [self.header(height) for height in range(1, self.live.height() + 1)]
        usable = [each for each in counted if 1 <= each.tx_count <= MAX_BLOCK_MODELS]
        missing = [each for each in usable if each.height not in self._blocks]
        for start in range(0, len(missing), TOGETHER):
            group = missing[start : start + TOGETHER]
            places = [Position(each.height, index) for each in group for index in range(each.tx_count)]
            try:
                found = iter(self.live.transactions(places))
            except NodeError:
                raise
            except ChainError:
                continue
            for each in group:
                self._blocks[each.height] = tuple(islice(found, each.tx_count))

    def block(self, height: int) -> tuple[ModelTransaction, ...]:
        """Transactions of a block, as many as its header says."""
        if height not in self._blocks:
            places = [Position(height, index) for index in range(self.header(height).tx_count)]
            self._blocks[height] = tuple(self.live.transactions(places))
        return self._blocks[height]

    def transaction(self, position: Position) -> ModelTransaction:
        """The transaction at a position.  Raises VerificationError if the header contradicts it."""
        height, subject = position.height, f"model at {position}"
        count = self.header(height).tx_count if height >= 1 and self._reaches(height) else 0
        if not position.index < count <= MAX_BLOCK_MODELS:
            raise VerificationError(
                "header", subject, f"header {height} says that its block holds {count} models"
            )
        try:
            return self.block(height)[position.index]
        except NodeError:
            raise
        except ChainError as error:
            raise VerificationError("header", subject, f"block {height} cannot be read: {error}") from None

    def _reaches(self, height: int) -> bool:
        if height > self._height:
            self._height = self.live.height()
        return height <= self._height

    def find(self, position: Position) -> ModelTransaction | None:
        """The transaction at an untrusted position; None if it has no model."""
        try:
            return self.transaction(position)
        except VerificationError:
            return None

    def block_hash(self, height: int) -> Bytes32:
        """The chain's own hash of a block, from 1 to the chain's height."""
        if height not in self._block_hashes:
            self._block_hashes[height] = self.live.block_hash(height)
        return self._block_hashes[height]

    def key(self, epoch: int) -> Point:
        """Group key of an epoch."""
        if epoch not in self._read_rosters:
            self._read_rosters[epoch] = self._rosters.roster(epoch)
        return self._read_rosters[epoch][0].group_key

    def read(self) -> ReadChain:
        """All parts of the chain that verification needs; unreadable ones are left out."""
        self.read_all()
        stored = chain.from_iterable(self._blocks.values())
        for epoch in {each.epoch for each in self._headers} | {each.epoch for each in stored}:
            with suppress(ChainError):
                self.key(epoch)
        for header in self._headers:
            with suppress(ChainError):
                self.block_hash(header.height)
        return ReadChain(
            self.live.chain_id,
            self.live.address,
            self._headers,
            self._blocks,
            self._block_hashes,
            self._read_rosters,
        )


Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class ReadChain:
    """A `LiveReader` and `Rosters` in memory.  Raises ChainError for values that the view could not read.

    Attributes:
        found: headers, from height 1.
        blocks, hashes: transactions and the chain's own hash, by height.
        rosters: each with its quorum, by epoch.
    """

    chain_id: int
    address: Address
    found: Sequence[Header]
    blocks: Mapping[int, Sequence[ModelTransaction]]
    hashes: Mapping[int, bytes]
    rosters: Mapping[int, tuple[Roster, int]]

    def height(self) -> int:
        return len(self.found)

    def headers(self, heights: Sequence[int]) -> list[Header]:
        return [self.found[height - 1] for height in heights]

    def transactions(self, positions: Sequence[Position]) -> list[ModelTransaction]:
        return [_of(self.blocks, each.height)[each.index] for each in positions]

    def block_hash(self, height: int) -> Bytes32:
        return _of(self.hashes, height)

    def roster(self, epoch: int) -> tuple[Roster, int]:
        return _of(self.rosters, epoch)


def _of(read: Mapping[int, Value], number: int) -> Value:
    if number not in read:
        raise ChainError(f"number {number} was not read.")
    return read[number]
