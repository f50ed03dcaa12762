# SPDX-License-Identifier: Apache-2.0
"""The registry of participants on a node, by the node's block numbers and the digests of eth_abi."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contracts.refusal import refusal
from tests.contracts.scene import (
    ADMIT,
    CHANGE_FILE,
    DECIDE,
    SET_BARRED,
    decision_on_request,
    digest,
    filed_content,
)
from tests.contracts.world import World, position

FILE, OTHER_FILE, REQUEST, PART = (bytes([each]) * 32 for each in range(1, 5))
RAW, DAG_PB = 0x55, 0x70
SEATS = 2
FILED, ADMITTED, DISMISSED = range(1, 4)


@pytest.fixture
def registry(world: World) -> Any:
    """A closed registry, founded with FILE by its deployer, the first account."""
    from brownie import ParticipantRegistry, accounts

    deployed = accounts[0].deploy(ParticipantRegistry, world.committee, world.live, SEATS, False)
    deployed.found(FILE, {"from": accounts[0]})
    return deployed


def admitted(world: World, registry: Any, *participants: Any) -> None:
    for each in participants:
        content = digest(["address"], [str(each)])
        registry.admit(each, world.decider.action(registry.address, ADMIT, content))
        registry.join({"from": each})


def decide(world: World, registry: Any, number: int, content: bytes, answer: bool) -> Any:
    """The transaction by which the committee admits or dismisses a request."""
    action = world.decider.action(registry.address, DECIDE, decision_on_request(number, content, answer))
    return registry.decide(number, answer, action)


def test_the_committee_decides_on_the_file_and_who_takes_part(world: World, registry: Any) -> None:
    from brownie import accounts

    ann, ben = accounts[1:3]
    assert refusal(registry, "join", sender=ann.address) == ("NotAdmitted", ann.address)
    admitted(world, registry, ann, ben)
    assert (registry.count(), registry.accountOf(2)) == (2, ben)
    content = digest(["address", "bool"], [ben.address, True])
    registry.setBarred(ben, True, world.decider.action(registry.address, SET_BARRED, content))
    assert tuple(registry.participant(ben)) == (2, 0, True, True)
    action = world.decider.action(registry.address, CHANGE_FILE, digest(["bytes32"], [OTHER_FILE]))
    registry.changeFile(OTHER_FILE, action)
    assert bytes(registry.fileDigest()) == OTHER_FILE


def test_parts_are_taken_from_the_admission_to_the_last_block(world: World, registry: Any) -> None:
    from brownie import accounts

    ann, ben = accounts[1:3]
    admitted(world, registry, ann, ben)
    world.publish([[]])
    (event,) = registry.file(REQUEST, DAG_PB, 2, {"from": ann}).events["Filed"]
    assert (event["number"], event["by"], event["blocks"], event["height"]) == (1, ann, 2, 1)
    content = filed_content(ann.address, REQUEST, DAG_PB, 2, 1)
    assert tuple(registry.filed(1)) == (f"0x{content.hex()}", 0, ann, 1, 2, 0, FILED)
    part = (1, position(3, 2), PART, RAW)
    assert refusal(registry, "handIn", *part, sender=ben.address) == ("RequestNotAdmitted", 1)
    transaction = decide(world, registry, 1, content, True)
    deadline = transaction.block_number + 2
    assert transaction.events["RequestAdmitted"]["deadline"] == deadline
    assert tuple(registry.filed(1)) == (f"0x{content.hex()}", deadline, ann, 1, 2, 0, ADMITTED)
    for taken in range(2):
        handed = registry.handIn(1, position(3, taken), PART, RAW, {"from": ben})
        assert handed.events["HandedIn"]["position"] == position(3, taken)
    assert handed.block_number == deadline
    accounts[0].transfer(ann, 1, silent=True)
    assert refusal(registry, "handIn", *part, sender=ben.address) == ("RequestClosed", 1, deadline)


def test_dismissed_requests_hold_their_places(world: World, registry: Any) -> None:
    from brownie import accounts

    ann = accounts[1]
    admitted(world, registry, ann)
    content = filed_content(ann.address, REQUEST, RAW, 2, 0)
    for number in range(1, 5):
        registry.file(REQUEST, RAW, 2, {"from": ann})
        decide(world, registry, number, content, False)
    assert registry.filed(4)[-1] == DISMISSED
    filing = (REQUEST, RAW, 2)
    assert refusal(registry, "file", *filing, sender=ann.address) == ("AllPlacesTaken", ann.address, 4)
    assert refusal(registry, "handIn", 4, 1, PART, RAW, sender=ann.address) == ("RequestNotAdmitted", 4)
