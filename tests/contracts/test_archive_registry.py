# SPDX-License-Identifier: Apache-2.0
"""The archive only grows, and its head binds every record."""

from __future__ import annotations

from typing import Any

import pytest

from blockful_py.crypto import curve, payload
from blockful_py.types import ArchiveReason, ArchiveRecord, Codec, Position, Uri
from tests.contracts.refusal import refusal
from tests.contracts.scene import SET_AUDITOR, digest
from tests.contracts.world import World, position

NOW = 1_700_000_000
FIRST = (position(1, 0), 0, 0, 0x55, b"\1" * 32)
SECOND = (position(1, 1), 0, 0, 0x70, b"\2" * 32)
THIRD = (position(1, 0), 3, 1, 0x55, b"\3" * 32)


def twin(start: bytes, index: int, records: list[tuple[Any, ...]], timestamp: int) -> list[bytes]:
    """Heads after each record, from the head before."""
    heads = []
    for offset, (place, version, reason, codec, content) in enumerate(records):
        record = ArchiveRecord(
            Position.unpack(place), version, ArchiveReason(reason), Uri(content, Codec(codec))
        )
        start = payload.archive_head_step(start, index + offset, record, timestamp)
        heads.append(start)
    return heads


def refused(world: World, head: bytes, timestamp: int, records: list[Any]) -> tuple[Any, ...]:
    action = world.records_action(head, timestamp, records)
    return refusal(world.archive, "append", head, timestamp, records, action)


@pytest.fixture
def start(world: World) -> bytes:
    return bytes(world.archive.head())


def test_an_empty_archive(world: World, start: bytes) -> None:
    contract = bytes.fromhex(world.archive.address[2:])
    assert start == payload.archive_genesis_head(world.decider.chain_id, contract)
    assert world.archive.length() == 0
    assert list(world.archive.records(0, 0)) == []


def test_records_are_chained(world: World, start: bytes) -> None:
    transaction = world.archived(start, NOW, [FIRST, SECOND])
    heads = twin(start, 0, [FIRST, SECOND], NOW)
    assert [bytes(each["head"]) for each in transaction.events["Archived"]] == heads
    assert [each["index"] for each in transaction.events["Archived"]] == [0, 1]
    assert bytes(world.archive.head()) == heads[-1]
    world.archived(heads[-1], NOW, [THIRD])
    assert bytes(world.archive.head()) == twin(heads[-1], 2, [THIRD], NOW)[-1]
    assert world.archive.length() == 3
    stored = [
        (*map(int, each[0][:4]), bytes(each[0][4]), int(each[1])) for each in world.archive.records(0, 3)
    ]
    assert stored == [(*record, NOW) for record in (FIRST, SECOND, THIRD)]
    assert len(world.archive.records(1, 1)) == 1


@pytest.mark.parametrize("field", range(5))
def test_any_change_changes_the_head(field: int) -> None:
    changed = list(FIRST)
    changed[field] = {2: 1, 3: 0x70, 4: b"\7" * 32}.get(field, FIRST[field] + 1 if field < 2 else 0)
    assert (
        twin(bytes(32), 0, [tuple(changed), SECOND], NOW)[-1] != twin(bytes(32), 0, [FIRST, SECOND], NOW)[-1]
    )
    assert twin(bytes(32), 0, [FIRST], NOW) != twin(bytes(32), 0, [FIRST], NOW + 1)
    assert twin(bytes(32), 0, [FIRST], NOW) != twin(bytes(32), 1, [FIRST], NOW)


def test_a_head_that_has_moved_on(world: World, start: bytes) -> None:
    world.archived(start, NOW, [FIRST])
    assert refused(world, start, NOW, [SECOND]) == ("HeadMismatch", start, bytes(world.archive.head()))


def test_nothing_to_archive(world: World, start: bytes) -> None:
    assert refused(world, start, NOW, []) == ("NothingToArchive",)


def test_an_unknown_reason(world: World, start: bytes) -> None:
    assert refused(world, start, NOW, [(*FIRST[:2], 2, *FIRST[3:])]) == ("UnknownReason", 2)


def test_an_unknown_codec(world: World, start: bytes) -> None:
    assert refused(world, start, NOW, [(*FIRST[:3], 1, FIRST[4])]) == ("UnknownCodec", 1)


def test_times_do_not_go_back(world: World, start: bytes) -> None:
    world.archived(start, NOW, [FIRST])
    head = bytes(world.archive.head())
    assert refused(world, head, NOW - 1, [SECOND])[:3] == ("TimestampOutOfRange", NOW - 1, NOW)
    name, given, earliest, latest = refused(world, head, 2**40, [SECOND])
    assert (name, given, earliest) == ("TimestampOutOfRange", 2**40, NOW)
    assert latest < 2**40
    world.archived(head, NOW, [SECOND])


def test_records_that_do_not_exist(world: World, start: bytes) -> None:
    world.archived(start, NOW, [FIRST])
    assert refusal(world.archive, "records", 0, 2) == ("UnknownRecord", 1, 1)
    assert refusal(world.archive, "records", 5, 1) == ("UnknownRecord", 5, 1)
    assert refusal(world.archive, "records", 0, 2**64 - 1) == ("UnknownRecord", 1, 1)


def set_auditor(world: World, auditor: str, x: int, y: int) -> tuple[Any, ...]:
    content = digest(["address", "uint256", "uint256"], [auditor, x, y])
    return (auditor, x, y, world.decider.action(world.archive.address, SET_AUDITOR, content))


def test_auditors_come_and_go(world: World) -> None:
    from brownie import accounts

    auditor, key = accounts[5].address, curve.multiply_base(77)
    events = world.archive.setAuditor(*set_auditor(world, auditor, key.x, key.y)).events
    assert (events["AuditorRegistered"]["keyX"], events["AuditorRegistered"]["keyY"]) == (key.x, key.y)
    assert list(world.archive.auditorKey(auditor)) == [key.x, key.y]
    events = world.archive.setAuditor(*set_auditor(world, auditor, 0, 0)).events
    assert events["AuditorRemoved"]["auditor"] == auditor
    assert list(world.archive.auditorKey(auditor)) == [0, 0]


@pytest.mark.parametrize(("x", "y"), [(1, 1), (0, 1), (curve.multiply_base(77).x, 0)])
def test_a_key_off_the_curve(world: World, x: int, y: int) -> None:
    from brownie import accounts

    auditor = accounts[5].address
    found = refusal(world.archive, "setAuditor", *set_auditor(world, auditor, x, y))
    assert found == ("InvalidAuditorKey", auditor)


def test_the_zero_address_is_no_auditor(world: World) -> None:
    key = curve.multiply_base(77)
    nobody = "0x" + "00" * 20
    found = refusal(world.archive, "setAuditor", *set_auditor(world, nobody, key.x, key.y))
    assert found == ("InvalidAuditorKey", nobody)
