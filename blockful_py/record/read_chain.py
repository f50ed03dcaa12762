# SPDX-License-Identifier: Apache-2.0
"""The live chain as read by a view, for processes without a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from blockful_py.crypto.roster import Roster
from blockful_py.errors import ChainError
from blockful_py.types import Address, Bytes32, Header, ModelTransaction, Position

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
