# SPDX-License-Identifier: Apache-2.0
"""Contracts and Python compute the same hashes, labels and digests."""

from __future__ import annotations

from typing import Any

from blockful_py.crypto import curve, merkle, payload
from blockful_py.crypto.eip712 import decision_digest
from blockful_py.types import ArchiveReason, ArchiveRecord, Codec, Point, Position, Uri
from tests.contracts.world import World, position

NOW = 1_700_000_000
FIRST = (position(1, 0), 0, 0, 0x55, b"\1" * 32)
SECOND = (position(1, 1), 0, 0, 0x70, b"\2" * 32)
THIRD = (position(1, 0), 3, 1, 0x55, b"\3" * 32)


def test_the_epoch_and_its_domain(world: World) -> None:
    panel = world.decider.panel
    for book in (world.committee, world.mirror):
        (members, threshold, unanimous, x, y), quorum = book.roster(1)
        assert [curve.address(Point(*key)) for key in members] == panel.addresses
        assert (threshold, unanimous, x, y, quorum) == (3, False, panel.key.x, panel.key.y, 3)
        assert bytes(book.keyId(1)) == panel.key_id
        assert bytes(book.domainSeparator()) == world.decider.domain.separator()
        expected = decision_digest(world.decider.domain, 1, b"\1" * 32, b"\2" * 32)
        assert bytes(book.decisionDigest(1, b"\1" * 32, b"\2" * 32)) == expected


def test_blocks_and_redactions_under_openings_of_python(world: World) -> None:
    live, scene = world.live, world.scene
    assert bytes(live.blockHash(0)) == payload.genesis_block_hash(world.decider.chain_id, scene.contract)
    world.publish([[], [], []])
    listed = [position(1, 0), position(1, 2)]
    world.publish([listed, []], NOW + 100)
    world.redact([position(1, 1), position(2, 0)])
    for height, versions in ((1, (0, 1, 0)), (2, (1, 0))):
        known, header = scene.blocks[height], live.header(height)
        assert (bytes(header[0]), header[1], header[2]) == (known.parent_hash, known.ch, 1)
        places = [Position(height, index) for index in range(len(versions))]
        found = live.transactions([each.packed for each in places])
        leaves = [payload.block_leaf(place, each[0]) for place, each in zip(places, found, strict=True)]
        assert bytes(header[4]) == known.root == merkle.root(leaves)
        assert tuple(each[3] for each in found) == versions
        for place, each in zip(places, found, strict=True):
            model = scene.models[place.packed]
            assert (each[0], bytes(each[1])) == (model.ch, model.uri.digest)
            assert bytes.fromhex(each[5][2:]) == model.owner
    assert bytes(live.blockHash(2)) == scene.head
    assert list(live.transaction(position(2, 0))[7]) == listed


def test_the_archive_is_chained_as_in_python(world: World) -> None:
    contract = bytes.fromhex(world.archive.address[2:])
    head = bytes(world.archive.head())
    assert head == payload.archive_genesis_head(world.decider.chain_id, contract)
    heads = twin(head, [FIRST, SECOND, THIRD])
    transaction = world.archived(head, NOW, [FIRST, SECOND])
    assert [bytes(each["head"]) for each in transaction.events["Archived"]] == heads[1:2]
    world.archived(heads[1], NOW, [THIRD])
    assert bytes(world.archive.head()) == heads[2]


def twin(start: bytes, records: list[tuple[Any, ...]]) -> list[bytes]:
    """Heads after each record, from the head of an empty archive."""
    heads = []
    for index, (place, version, reason, codec, content) in enumerate(records):
        uri = Uri(content, Codec(codec))
        record = ArchiveRecord(Position.unpack(place), version, ArchiveReason(reason), uri)
        start = payload.archive_head_step(start, index, record, NOW)
        heads.append(start)
    return heads
