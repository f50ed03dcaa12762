# SPDX-License-Identifier: Apache-2.0
"""The registry of participants on a node, by the node's count of blocks and the digests of eth_abi."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contracts.refusal import refusal
from tests.contracts.scene import ADMIT, CHANGE_FILE, SET_BARRED, digest
from tests.contracts.world import World, position

FILE, OTHER_FILE, REQUEST, PART = (bytes([each]) * 32 for each in range(1, 5))
RAW, DAG_PB = 0x55, 0x70
SEATS = 2


@pytest.fixture
def registry(world: World) -> Any:
    """Not open, and founded with FILE by its deployer, the first account."""
    from brownie import ParticipantRegistry, accounts

    deployed = accounts[0].deploy(ParticipantRegistry, world.committee, SEATS, False)
    deployed.found(FILE, {"from": accounts[0]})
    return deployed


def admitted(world: World, registry: Any, *participants: Any) -> None:
    for each in participants:
        content = digest(["address"], [str(each)])
        registry.admit(each, world.decider.action(registry.address, ADMIT, content))
        registry.join({"from": each})


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


def test_parts_are_taken_up_to_the_last_block_of_a_request(world: World, registry: Any) -> None:
    from brownie import accounts

    ann, ben = accounts[1:3]
    admitted(world, registry, ann, ben)
    transaction = registry.file(REQUEST, DAG_PB, 2, {"from": ann})
    deadline = transaction.block_number + 2
    (event,) = transaction.events["Filed"]
    assert (event["number"], event["by"], event["deadline"]) == (1, ann, deadline)
    content = digest(["address", "bytes32", "uint8", "uint64"], [ann.address, REQUEST, DAG_PB, deadline])
    stored, until = registry.filed(1)
    assert (bytes(stored), until) == (content[:24], deadline)
    for taken in range(2):
        handed = registry.handIn(1, position(3, taken), PART, RAW, {"from": ben})
        assert handed.events["HandedIn"]["position"] == position(3, taken)
    part = (1, position(3, 2), PART, RAW)
    assert handed.block_number == deadline
    accounts[0].transfer(ann, 1, silent=True)
    assert refusal(registry, "handIn", *part, sender=ben.address) == ("RequestClosed", 1, deadline)
