# SPDX-License-Identifier: Apache-2.0
"""Rosters on the home chain, and on the mirror that follows it."""

from __future__ import annotations

from typing import Any

import pytest

from blockful_py.crypto import curve, merkle
from blockful_py.crypto.eip712 import decision_digest
from tests.contracts.refusal import refusal
from tests.contracts.scene import ADVANCE, APPEND_RECORDS, ROSTER, Panel, digest, records_digest
from tests.contracts.world import World, position

FIELDS = ("members", "threshold", "unanimous", "x", "y")


def changed(roster: tuple[Any, ...], **changes: Any) -> tuple[Any, ...]:
    return tuple(changes.get(name, old) for name, old in zip(FIELDS, roster, strict=True))


def advance(world: World, epoch: int, roster: tuple[Any, ...]) -> tuple[Any, ...]:
    content = digest(["uint64", ROSTER], [epoch, roster])
    return (epoch, roster, world.decider.action(world.mirror.address, ADVANCE, content))


def test_the_first_epoch(world: World) -> None:
    panel = world.decider.panel
    for book in (world.committee, world.mirror):
        assert book.currentEpoch() == 1
        (members, threshold, unanimous, x, y), quorum = book.roster(1)
        assert [bytes.fromhex(member[2:]) for member in members] == panel.addresses
        assert (threshold, unanimous, x, y, quorum) == (3, False, panel.key.x, panel.key.y, 3)
        assert bytes(book.keyId(1)) == panel.key_id
        assert bytes(book.domainSeparator()) == world.decider.domain.separator()
        expected = decision_digest(world.decider.domain, 1, b"\1" * 32, b"\2" * 32)
        assert bytes(book.decisionDigest(1, b"\1" * 32, b"\2" * 32)) == expected


def test_an_unknown_epoch(world: World) -> None:
    assert bytes(world.committee.keyId(2)) == bytes(32)
    roster, quorum = world.committee.roster(2)
    assert (list(roster[0]), quorum) == ([], 0)


@pytest.mark.parametrize("name", ["AppointedCommittee", "Committee"])
def test_nothing_is_certified_before_the_first_epoch(world: World, elected_committee: Any, name: str) -> None:
    """A certificate without votes would reach a quorum of none."""
    from brownie import AppointedCommittee, ArchiveRegistry, accounts

    deployer = accounts[0]
    book = elected_committee if name == "Committee" else deployer.deploy(AppointedCommittee, deployer)
    empty = (0, b"\1" * 32, b"\2" * 32, 0, b"")
    assert refusal(book, "requireQuorum", empty) == ("StaleEpoch", 0, 0)
    archive = deployer.deploy(ArchiveRegistry, book)
    records = [(position(1, 0), 0, 0, 0x55, b"\3" * 32)]
    content = records_digest(bytes(archive.head()), 1, records)
    leaf = world.decider.leaf(archive.address, APPEND_RECORDS, content)
    action = ((0, b"\1" * 32, merkle.root([leaf]), 0, b""), 0, 1, [])
    assert refusal(archive, "append", bytes(archive.head()), 1, records, action) == ("StaleEpoch", 0, 0)


def test_appointing_starts_the_next_epoch(world: World) -> None:
    second = Panel.seeded(7, "second")
    event = world.committee.appoint(second.roster()).events["EpochStarted"]
    assert (event["epoch"], event["quorum"], event["threshold"]) == (2, 5, 5)
    assert bytes(event["keyId"]) == second.key_id
    assert world.committee.currentEpoch() == 2
    assert bytes(world.committee.keyId(1)) == world.decider.panel.key_id


def test_only_the_appointer_appoints(world: World) -> None:
    from brownie import accounts

    stranger = accounts[3].address
    found = refusal(world.committee, "appoint", Panel.seeded(4, "second").roster(), sender=stranger)
    assert found == ("NotAppointer", stranger, accounts[0].address)


@pytest.mark.parametrize(
    ("reason", "changes"),
    [
        ("no members", {"members": [], "threshold": 0}),
        ("threshold is zero", {"threshold": 0}),
        ("threshold above the number of members", {"threshold": 5}),
        ("group key is not on secp256k1", {"y": 1}),
        ("group key is not on secp256k1", {"x": 0, "y": 0}),
        ("group key is not on secp256k1", {"x": curve.P + 1}),
    ],
)
def test_a_roster_that_breaks_a_rule(world: World, reason: str, changes: dict[str, Any]) -> None:
    roster = changed(Panel.seeded(4, "second").roster(), **changes)
    assert refusal(world.committee, "appoint", roster) == ("InvalidRoster", reason)


def test_a_zero_or_repeated_member(world: World) -> None:
    good = Panel.seeded(4, "second").roster()
    zero = changed(good, members=[*good[0][:3], "0x" + "00" * 20])
    assert refusal(world.committee, "appoint", zero) == ("InvalidRoster", "a member is the zero address")
    twice = changed(good, members=[*good[0][:3], good[0][0]])
    assert refusal(world.committee, "appoint", twice) == ("InvalidRoster", "a member is listed twice")


def test_more_members_than_bits(world: World) -> None:
    good = Panel.seeded(1, "second").roster()
    crowd = changed(good, members=["0x" + (index + 1).to_bytes(20, "big").hex() for index in range(257)])
    assert refusal(world.committee, "appoint", crowd) == ("InvalidRoster", "more than 256 members")


def test_256_members_vote(world: World) -> None:
    second = Panel.seeded(256, "crowd")
    world.committee.appoint(second.roster())
    world.decider.panel = world.scene.panel = second
    world.decider.epoch = 2
    block = world.scene.block([[]])
    last = world.block_action(block, voters=range(256 - 171, 256))
    world.live.append(block, last)
    assert world.live.height() == 1
    few = world.block_action(block, voters=range(170))
    assert refusal(world.live, "append", block, few) == ("QuorumNotReached", 170, 171)


def test_the_mirror_follows_by_the_outgoing_committees_certificate(world: World) -> None:
    second, third = Panel.seeded(7, "second"), Panel.seeded(4, "third")
    event = world.mirror.advance(*advance(world, 2, second.roster())).events["EpochStarted"]
    assert (event["epoch"], bytes(event["keyId"])) == (2, second.key_id)
    assert refusal(world.mirror, "advance", *advance(world, 3, third.roster())) == ("StaleEpoch", 1, 2)
    world.decider.panel, world.decider.epoch = second, 2
    world.mirror.advance(*advance(world, 3, third.roster()))
    assert world.mirror.currentEpoch() == 3


@pytest.mark.parametrize("epoch", [0, 1, 3])
def test_the_mirror_skips_no_epoch(world: World, epoch: int) -> None:
    found = refusal(world.mirror, "advance", *advance(world, epoch, Panel.seeded(4, "second").roster()))
    assert found == ("EpochNotNext", epoch, 2)


def test_the_mirror_takes_only_what_was_certified(world: World) -> None:
    second = Panel.seeded(4, "second").roster()
    _, _, action = advance(world, 2, second)
    other = Panel.seeded(4, "other").roster()
    leaf = world.decider.leaf(world.mirror.address, ADVANCE, digest(["uint64", ROSTER], [2, other]))
    assert refusal(world.mirror, "advance", 2, other, action) == ("NotCertified", leaf, action[0][2])


def test_the_mirror_checks_rosters_too(world: World) -> None:
    bad = changed(Panel.seeded(4, "second").roster(), threshold=0)
    found = refusal(world.mirror, "advance", *advance(world, 2, bad))
    assert found == ("InvalidRoster", "threshold is zero")
