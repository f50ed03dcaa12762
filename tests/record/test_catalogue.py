# SPDX-License-Identifier: Apache-2.0
"""The catalogue is read on from what was read before, and is the one that reading all of it gives."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from blockful_py.crypto import payload
from blockful_py.record.catalogue import ArchiveReader, Catalogue, KnownTransactions
from blockful_py.types import (
    ArchiveReason,
    ArchiveRecord,
    Codec,
    Header,
    ModelTransaction,
    Position,
    StoredArchiveRecord,
    Uri,
)
from tests.record.conftest import Scene


def transaction(position: Position) -> ModelTransaction:
    uri = Uri(bytes(32), Codec.RAW)
    return ModelTransaction(position, 1, None, uri, 0, 1, bytes(20), False, ())


@dataclass
class Live:
    """A live chain in memory; `asked` are the positions that were read, `pruned` is the last height whose
    logs the node has dropped."""

    blocks: list[list[ModelTransaction]] = field(default_factory=list)
    log: list[ModelTransaction] = field(default_factory=list)
    asked: list[Position] = field(default_factory=list)
    pruned: int = 0

    def append(self, count: int) -> None:
        height = len(self.blocks) + 1
        self.blocks.append([transaction(Position(height, index)) for index in range(count)])

    def redact(self, position: Position) -> None:
        block = self.blocks[position.height - 1]
        block[position.index] = replace(block[position.index], version=block[position.index].version + 1)
        self.log.append(block[position.index])

    def height(self) -> int:
        return len(self.blocks)

    def block_hash(self, height: int) -> bytes:
        places = [each.position for block in self.blocks[:height] for each in block]
        return hashlib.sha256(repr(places).encode()).digest()

    def headers(self, heights: Sequence[int]) -> Sequence[Header]:
        return [Header(h, b"", 1, None, 0, 1, b"", 0, len(self.blocks[h - 1])) for h in heights]

    def published(self) -> Sequence[ModelTransaction]:
        return [each for each in self.all() if each.position.height > self.pruned]

    def redactions(self) -> Sequence[ModelTransaction]:
        return self.log

    def transactions(self, positions: Sequence[Position]) -> Sequence[ModelTransaction]:
        self.asked += positions
        return [self.blocks[each.height - 1][each.index] for each in positions]

    def all(self) -> list[ModelTransaction]:
        return [each for block in self.blocks for each in block]


@pytest.fixture
def live() -> Live:
    live = Live()
    live.append(2)
    live.append(3)
    return live


def known_of(live: Any) -> KnownTransactions:
    return KnownTransactions(live)


def test_only_what_is_new_or_replaced_is_read_again(live: Live) -> None:
    known = known_of(live)
    assert list(known.read()) == live.all()
    live.asked.clear()
    assert list(known.read()) == live.all()
    assert live.asked == []
    live.append(1)
    live.redact(Position(2, 1))
    live.redact(Position(2, 1))
    assert list(known.read()) == live.all()
    assert live.asked == [Position(2, 1), Position(3, 0)]


def test_a_chain_that_was_set_back_is_read_anew(live: Live) -> None:
    known = known_of(live)
    known.read()
    del live.blocks[1]
    assert list(known.read()) == live.all()
    live.append(4)
    assert list(known.read()) == live.all()
    live.blocks[-1] = live.blocks[-1][:2]
    assert list(known.read()) == live.all()


def test_a_replacement_that_was_undone_is_noticed(live: Live) -> None:
    known = known_of(live)
    live.redact(Position(1, 0))
    assert known.read()[0].version == 1
    live.log.clear()
    live.blocks[0][0] = replace(live.blocks[0][0], version=0)
    assert known.read()[0].version == 0


def test_blocks_whose_logs_are_gone_are_read_by_their_headers(live: Live) -> None:
    live.pruned = 1
    assert list(known_of(live).read()) == live.all()


def test_an_empty_chain_has_no_transactions() -> None:
    assert known_of(Live()).read() == ()


def test_reading_on_gives_what_reading_all_gives(scene: Scene) -> None:
    federation = scene.federation
    reader = federation.opened.context.record.catalogue
    whole = Catalogue.read(federation.contracts.live, federation.stores.live)
    assert dict(reader.read().models) == dict(whole.models)
    assert reader.read().references() == whole.references()
    assert {placed.version for placed in whole.models.values()} == {0, 1}


@dataclass
class Archive:
    """An archive chain in memory; `asked` are the indices of the records that were read."""

    chain_id: int = 1
    address: bytes = bytes(20)
    stored: list[StoredArchiveRecord] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    arriving: int = 0

    def append(self, timestamp: int) -> None:
        record = ArchiveRecord(Position(1, 0), 0, ArchiveReason.SUPERSEDED, Uri(bytes(32), Codec.RAW))
        self.stored.append(StoredArchiveRecord(len(self.stored), record, timestamp))

    def newest_block(self) -> str:
        return self.head().hex()

    def length(self) -> int:
        return len(self.stored)

    def head(self) -> bytes:
        head = payload.archive_genesis_head(self.chain_id, self.address)
        for each in self.stored:
            head = payload.archive_head_step(head, each.index, each.record, each.timestamp)
        return head

    def records(self, start: int, count: int) -> Sequence[StoredArchiveRecord]:
        found = self.stored[start : start + count]
        self.asked += [each.index for each in found]
        for _ in range(self.arriving):
            self.append(99)
        self.arriving = 0
        return found


@pytest.fixture
def archive() -> Archive:
    archive = Archive()
    for timestamp in (1, 2):
        archive.append(timestamp)
    return archive


def archive_reader(archive: Any) -> ArchiveReader:
    return ArchiveReader(archive)


def test_only_new_records_of_the_archive_are_read(archive: Archive) -> None:
    reader = archive_reader(archive)
    assert list(reader.read()) == list(reader.read()) == archive.stored
    archive.append(3)
    assert list(reader.read()) == archive.stored
    assert archive.asked == [0, 1, 2]


@pytest.mark.parametrize("kept", [0, 1])
def test_an_archive_that_was_set_back_is_read_anew(archive: Archive, kept: int) -> None:
    reader = archive_reader(archive)
    reader.read()
    del archive.stored[kept:]
    assert list(reader.read()) == archive.stored
    archive.append(4)
    archive.append(5)
    assert list(reader.read()) == archive.stored


def test_an_archive_whose_last_records_are_others_is_read_anew(archive: Archive) -> None:
    reader = archive_reader(archive)
    reader.read()
    del archive.stored[1:]
    archive.append(4)
    archive.append(5)
    assert list(reader.read()) == archive.stored


def test_a_record_that_arrives_while_the_archive_is_read_is_not_left_out(archive: Archive) -> None:
    archive.arriving = 1
    assert list(archive_reader(archive).read()) == archive.stored
    assert len(archive.stored) == 3
