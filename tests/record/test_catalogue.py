# SPDX-License-Identifier: Apache-2.0
"""The catalogue reads on from its last state, with the same result as a full reading."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from blockful_py.crypto import payload
from blockful_py.errors import NodeError
from blockful_py.record.archive_reader import ArchiveReader
from blockful_py.record.catalogue import AT_ONCE, Catalogue, read_nodes
from blockful_py.record.known_transactions import KnownTransactions
from blockful_py.types import (
    ArchiveReason,
    ArchiveRecord,
    Codec,
    Header,
    ModelTransaction,
    Opening,
    Position,
    StoredArchiveRecord,
    Uri,
)
from tests.record.conftest import Scene


def transaction(position: Position) -> ModelTransaction:
    uri = Uri(bytes(32), Codec.RAW)
    return ModelTransaction(position, 1, Opening(2, 3), uri, 0, 1, bytes(20), True, (Position(1, 0),))


@dataclass
class Live:
    """A live chain in memory; `asked` are the positions that were read, `pruned` is the last height whose
    logs the node has dropped."""

    blocks: list[list[ModelTransaction]] = field(default_factory=list)
    log: list[ModelTransaction] = field(default_factory=list)
    asked: list[Position] = field(default_factory=list)
    pruned: int = 0
    url: str = "http://live"
    chain_id: int = 1
    address: bytes = bytes(20)

    def append(self, count: int) -> None:
        height = len(self.blocks) + 1
        self.blocks.append([transaction(Position(height, index)) for index in range(count)])

    def redact(self, position: Position, settled: bool = True) -> None:
        """Logs a redaction; `settled` is whether it was the last chunk of its decision."""
        block = self.blocks[position.height - 1]
        version = block[position.index].version + 1
        block[position.index] = replace(block[position.index], version=version, settled=settled)
        self.log.append(block[position.index])

    def settle(self) -> None:
        """Executes the last chunk of all decisions; replaced versions of earlier chunks are not logged."""
        self.blocks = [[replace(each, settled=True) for each in block] for block in self.blocks]

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


def known_of(live: Any, kept: Path | None = None) -> KnownTransactions:
    return KnownTransactions(live, kept)


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


@pytest.mark.parametrize("later_process", [False, True])
def test_what_a_decision_replaced_is_read_again_until_it_is_settled(
    live: Live, tmp_path: Path, later_process: bool
) -> None:
    known = known_of(live, tmp_path)
    known.read()
    live.redact(Position(1, 0), settled=False)
    for _ in range(2):
        assert [each.settled for each in known.read()] == [False, True, True, True, True]
    live.settle()
    known = known_of(live, tmp_path) if later_process else known
    live.asked.clear()
    for _ in range(2):
        assert list(known.read()) == live.all()
    assert live.asked == [Position(1, 0)]


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


@pytest.mark.parametrize("lacks", ["a block", "a version"])
def test_a_state_that_is_older_than_the_events_is_not_taken_for_the_record(live: Live, lacks: str) -> None:
    """A load-balanced node may answer the second question from a machine that lags."""
    live.redact(Position(1, 0))
    known, behind = known_of(live), copy.deepcopy(live)
    if lacks == "a block":
        behind.blocks.pop()
    else:
        behind.blocks[0][0] = replace(behind.blocks[0][0], version=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(live, "height", behind.height)
        patch.setattr(live, "transactions", behind.transactions)
        with pytest.raises(NodeError, match=r"the node at http://live has version . of the model.* it lags"):
            known.read()
    assert list(known.read()) == live.all()


def test_a_later_process_reads_what_is_new_or_replaced(live: Live, tmp_path: Path) -> None:
    known_of(live, tmp_path / "events").read()
    live.asked.clear()
    live.append(1)
    live.redact(Position(1, 1))
    assert list(known_of(live, tmp_path / "events").read()) == live.all()
    assert live.asked == [Position(1, 1), Position(3, 0)]


@pytest.mark.parametrize("damage", ["changed", "cut", "of another chain"])
def test_a_file_that_does_not_fit_is_made_anew(live: Live, tmp_path: Path, damage: str) -> None:
    known_of(live, tmp_path).read()
    (file,) = tmp_path.iterdir()
    if damage == "changed":
        data = bytearray(file.read_bytes())
        data[-20] ^= 1
        file.write_bytes(data)
    elif damage == "cut":
        file.write_bytes(file.read_bytes()[:-20])
    else:
        live.blocks.reverse()
        for height, block in enumerate(live.blocks, start=1):
            block[:] = [replace(each, position=Position(height, i)) for i, each in enumerate(block)]
    assert list(known_of(live, tmp_path).read()) == live.all()
    live.asked.clear()
    assert list(known_of(live, tmp_path).read()) == live.all()
    assert live.asked == []


def test_an_empty_chain_has_no_transactions() -> None:
    assert known_of(Live()).read() == ()


def test_reading_on_gives_what_reading_all_gives(scene: Scene) -> None:
    federation = scene.federation
    reader = federation.context.record.catalogue
    whole = Catalogue.read(federation.contracts.live, federation.stores.live)
    assert dict(reader.read().models) == dict(whole.models)
    assert reader.read().references() == whole.references()
    assert {placed.version for placed in whole.models.values()} == {0, 1}


def test_blocks_without_events_are_not_read(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    federation = scene.federation
    record, contracts = federation.context.record, federation.contracts
    first = record.catalogue.read(), record.archive.read()
    monkeypatch.setattr(Catalogue, "of", None)
    monkeypatch.setattr(type(contracts.archive), "archived", None)
    for side in (contracts.live, contracts.archive):
        side.node.rpc.call("evm_mine")
        side.node.look_again()
    assert record.catalogue.read() is first[0]
    assert record.archive.read() is first[1]


@dataclass
class Archive:
    """An archive chain in memory.

    Attributes:
        asked: from which record on its events were asked for.
        hidden: how many of the first its events leave out.
        arriving: how many records come after each look at the events.
        stated: the head that it claims; None for the true one.
    """

    chain_id: int = 1
    address: bytes = bytes(20)
    url: str = "http://archive"
    stored: list[StoredArchiveRecord] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    arriving: int = 0
    stated: bytes | None = None
    hidden: int = 0
    other: Archive | None = None

    def append(self, timestamp: int) -> None:
        record = ArchiveRecord(Position(1, 0), 0, ArchiveReason.SUPERSEDED, Uri(bytes(32), Codec.RAW))
        self.stored.append(StoredArchiveRecord(len(self.stored), record, timestamp))

    def log(self) -> Sequence[StoredArchiveRecord]:
        return self.stored

    def by_another_node(self) -> Archive:
        """It lists the records that this one does not have."""
        assert self.other is not None
        self.other.hidden = len(self.stored)
        return self.other

    def head(self) -> bytes:
        if self.stated is not None:
            return self.stated
        head = payload.archive_genesis_head(self.chain_id, self.address)
        for each in self.stored:
            head = payload.archive_head_step(head, each.index, each.record, each.timestamp)
        return head

    def archived(self, start: int = 0) -> Sequence[StoredArchiveRecord]:
        found = self.stored[self.hidden :][start:]
        self.asked.append(start)
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
    assert archive.asked == [0, 2]


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


def test_records_that_do_not_hash_to_the_head_are_refused(archive: Archive) -> None:
    archive.stated = bytes(32)
    with pytest.raises(NodeError, match=r"do not hash to its head at http://archive.*another node"):
        archive_reader(archive).read()


@pytest.mark.parametrize("since", [0, 2])
def test_a_second_look_at_the_archive_agrees_where_another_node_goes_on_from_the_same_records(
    archive: Archive, since: int
) -> None:
    """Nothing is raised, where the next tests' nodes have other records."""
    reader = archive_reader(archive)
    archive.other = Archive(url="http://other", stored=[*archive.stored])
    for timestamp in range(since):
        archive.other.append(7 + timestamp)
    reader.require_another_look()


@pytest.mark.parametrize("other", ["lacks one", "has another one"])
def test_a_second_look_at_the_archive_disagrees_where_another_node_has_other_records(
    archive: Archive, other: str
) -> None:
    archive.other = Archive(url="http://other", stored=archive.stored[:-1])
    if other == "has another one":
        archive.other.append(77)
    with pytest.raises(NodeError, match="at http://archive and http://other have different records"):
        archive_reader(archive).require_another_look()


class Files:
    """Files in memory, and what is asked of them."""

    def __init__(self, count: int) -> None:
        self.asked: list[str] = []
        self.uris = [Uri(number.to_bytes(32, "big"), Codec.RAW) for number in range(count)]

    def prefetch(self, uris: Sequence[Uri]) -> None:
        self.asked.append(f"{len(uris)} together")

    def read(self, uri: Uri, limit: int) -> bytes:
        self.asked.append("one")
        return b""


@pytest.mark.parametrize("count", [0, 1, AT_ONCE, AT_ONCE + 3])
def test_nodes_are_fetched_many_at_once(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("blockful_py.record.catalogue.parse_node", lambda data: data)
    files: Any = Files(count)
    assert [uri for uri, _ in read_nodes(files, files.uris)] == files.uris
    expected = []
    for start in range(0, count, AT_ONCE):
        some = min(AT_ONCE, count - start)
        expected += [f"{some} together", *["one"] * some]
    assert files.asked == expected
