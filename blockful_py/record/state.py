# SPDX-License-Identifier: Apache-2.0
"""Compares the live contract's storage with its events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from blockful_py.errors import ChainError, NodeError
from blockful_py.record.events import LiveEvents, Violation
from blockful_py.storage.cid import cid_string
from blockful_py.types import Bytes32, Position, Uri

TOGETHER = 100
"""Blocks whose headers and models are read in one go."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block by its event; `version` is its header's version before the events."""

    height: int
    proposal: Bytes32
    count: int
    block_hash: Bytes32
    version: int = 0


@dataclass(frozen=True, slots=True)
class Stored:
    """The expected storage of the contract.

    Attributes:
        versions: by a model's position, its version; by a header's, the number of versions that the events
            added.  Zeros are left out.
        uris: by position and version.
    """

    live: LiveEvents
    versions: Mapping[Position, int]
    uris: Mapping[tuple[Position, int], Uri]

    def altered(self, blocks: Sequence[Block]) -> Iterator[Violation]:
        """Unreadable or unexpected headers and models of `blocks`.  Raises NodeError."""
        for start in range(0, len(blocks), TOGETHER):
            group = blocks[start : start + TOGETHER]
            try:
                yield from self._altered(group)
            except NodeError:
                raise
            except ChainError:
                yield from self._one_by_one(group)

    def _one_by_one(self, blocks: Sequence[Block]) -> Iterator[Violation]:
        for block in blocks:
            try:
                yield from self._altered([block])
            except NodeError:
                raise
            except ChainError as error:
                yield _of_block(block, f"it cannot be read: {error}")

    def _altered(self, blocks: Sequence[Block]) -> list[Violation]:
        heights = [block.height for block in blocks]
        headers, hashes = self.live.headers(heights), self.live.block_hashes(heights)
        found: list[Violation] = []
        places: list[Position] = []
        for block, header, block_hash in zip(blocks, headers, hashes, strict=True):
            version = block.version + self.versions.get(Position.of_header(block.height), 0)
            if (header.version, header.tx_count, block_hash) != (version, block.count, block.block_hash):
                found.append(_of_block(block, "its header is not what the events say: it was altered"))
            if header.tx_count == block.count:
                places += [Position(block.height, index) for index in range(block.count)]
        for each in self.live.transactions(places):
            version = self.versions.get(each.position, 0)
            if (each.version, each.uri) != (version, self.uris.get((each.position, version))):
                shown = f"version {each.version} with {cid_string(each.uri)}"
                detail = f"{shown} is not what the events say: it was altered"
                found.append(of_model("state", each.position, detail))
        return found


def of_model(promise: str, place: Position, detail: str) -> Violation:
    """A violation about a model or header."""
    return Violation(promise, f"model at {place}", place, detail)


def _of_block(block: Block, detail: str) -> Violation:
    return Violation("state", f"block {block.height}", Position.of_header(block.height), detail)
