# SPDX-License-Identifier: Apache-2.0
"""Who may decide: votes, epochs, Merkle paths and chunks, each refusal beside what is accepted."""

from __future__ import annotations

from typing import Any

import pytest

from blockful_py.crypto import merkle
from blockful_py.crypto.eip712 import decision_digest, sign
from tests.contracts.refusal import refusal
from tests.contracts.scene import APPEND_BLOCK, REDACT, Panel, block_digest, redaction_digest
from tests.contracts.world import World, position


@pytest.fixture
def block(world: World) -> Any:
    return world.scene.block([[], []])


def spoilt(action: tuple[Any, ...], **changes: Any) -> tuple[Any, ...]:
    """The action with fields of its certificate replaced."""
    names = ("epoch", "proposal", "content", "voters", "votes")
    certificate = tuple(changes.get(name, old) for name, old in zip(names, action[0], strict=True))
    return (certificate, *action[1:])


def test_any_quorum_of_members_decides(world: World, block: Any) -> None:
    transaction = world.live.append(block, world.block_action(block, voters=(0, 2, 3)))
    executed = transaction.events["ChunkExecuted"]
    assert (executed["done"], executed["chunks"]) == (1, 1)
    assert world.live.height() == 1


def test_all_members_may_vote(world: World, block: Any) -> None:
    world.live.append(block, world.block_action(block, voters=range(4)))
    assert world.live.height() == 1


@pytest.mark.parametrize("voters", [(), (0,), (1, 3)])
def test_too_few_votes(world: World, block: Any, voters: tuple[int, ...]) -> None:
    action = world.block_action(block, voters=voters)
    assert refusal(world.live, "append", block, action) == ("QuorumNotReached", len(voters), 3)


def test_a_vote_by_a_stranger(world: World, block: Any) -> None:
    action = world.block_action(block)
    epoch, proposal, content, _, votes = action[0]
    stranger = Panel.seeded(1, "stranger")
    digest = decision_digest(world.decider.domain, epoch, proposal, content)
    forged = votes[:64] + sign(stranger.secrets[0], digest) + votes[128:]
    found = refusal(world.live, "append", block, spoilt(action, votes=forged))
    assert found == ("InvalidVote", 1, *_checksummed(stranger.addresses[0], world.decider.panel.addresses[1]))


def test_votes_in_the_wrong_order(world: World, block: Any) -> None:
    action = world.block_action(block)
    votes = action[0][4]
    swapped = votes[64:128] + votes[:64] + votes[128:]
    found = refusal(world.live, "append", block, spoilt(action, votes=swapped))
    members = world.decider.panel.addresses
    assert found == ("InvalidVote", 0, *_checksummed(members[1], members[0]))


def test_one_vote_counted_twice(world: World, block: Any) -> None:
    action = world.block_action(block, voters=(0, 1))
    votes = action[0][4]
    doubled = spoilt(action, voters=0b111, votes=votes + votes[64:])
    found = refusal(world.live, "append", block, doubled)
    members = world.decider.panel.addresses
    assert found == ("InvalidVote", 2, *_checksummed(members[1], members[2]))


def test_a_vote_of_zeros(world: World, block: Any) -> None:
    """A failed recovery gives the zero address, which is never a member."""
    action = world.block_action(block)
    votes = action[0][4]
    zeroed = bytes(64) + votes[64:]
    member = world.decider.panel.addresses[0]
    expected = ("InvalidVote", 0, *_checksummed(bytes(20), member))
    assert refusal(world.live, "append", block, spoilt(action, votes=zeroed)) == expected


def test_votes_for_another_content(world: World, block: Any) -> None:
    action = world.block_action(block)
    other = world.block_action(world.scene.block([[], []], record=False), proposal=action[0][1])
    found = refusal(world.live, "append", block, spoilt(action, votes=other[0][4]))
    assert found[:2] == ("InvalidVote", 0)


def test_votes_under_the_domain_of_another_committee(world: World, block: Any) -> None:
    from dataclasses import replace

    world.decider.domain = replace(world.decider.domain, contract=bytes(19) + b"\1")
    found = refusal(world.live, "append", block, world.block_action(block))
    assert found[:2] == ("InvalidVote", 0)


def test_a_voter_beyond_the_roster(world: World, block: Any) -> None:
    action = world.block_action(block)
    beyond = spoilt(action, voters=action[0][3] | 1 << 7, votes=action[0][4] + bytes(64))
    assert refusal(world.live, "append", block, beyond) == ("UnknownMember", 7, 4)


@pytest.mark.parametrize("cut", [0, 1, 64, 191])
def test_votes_cut_short(world: World, block: Any, cut: int) -> None:
    action = world.block_action(block)
    short = spoilt(action, votes=action[0][4][:cut])
    assert refusal(world.live, "append", block, short) == ("MalformedVotes", cut, 192)


def test_votes_too_long(world: World, block: Any) -> None:
    action = world.block_action(block)
    long = spoilt(action, votes=action[0][4] + b"\0")
    assert refusal(world.live, "append", block, long) == ("MalformedVotes", 193, 192)


def test_a_stale_epoch(world: World, block: Any) -> None:
    action = world.block_action(block)
    world.committee.appoint(Panel.seeded(4, "second").roster())
    assert refusal(world.live, "append", block, action) == ("StaleEpoch", 1, 2)


def test_an_epoch_to_come(world: World, block: Any) -> None:
    world.decider.epoch = 2
    assert refusal(world.live, "append", block, world.block_action(block)) == ("StaleEpoch", 2, 1)


def test_the_next_epoch_decides_under_its_own_key(world: World) -> None:
    world.publish([[]])
    second = Panel.seeded(7, "second")
    world.committee.appoint(second.roster())
    world.decider.panel, world.decider.epoch = second, 2
    world.scene.panel = second
    world.redact([position(1, 0)])
    standing = world.live.transaction(position(1, 0))
    assert (standing[4], standing[5]) == (1, 2)


def test_the_old_trapdoor_is_powerless_in_the_next_epoch(world: World) -> None:
    world.publish([[]])
    second = Panel.seeded(4, "second")
    world.committee.appoint(second.roster())
    world.decider.panel, world.decider.epoch = second, 2
    updates, headers = world.scene.redaction([position(1, 0)])
    found = refusal(world.live, "redact", updates, headers, world.redact_action(updates, headers))
    assert found == ("InvalidOpening", position(1, 0), 1)


def test_unanimity(world: World) -> None:
    second = Panel.seeded(4, "second")
    world.committee.appoint(second.roster(unanimous=True))
    world.decider.panel = world.scene.panel = second
    world.decider.epoch = 2
    block = world.scene.block([[]])
    three = world.block_action(block, voters=(0, 1, 2))
    assert refusal(world.live, "append", block, three) == ("QuorumNotReached", 3, 4)
    world.live.append(block, world.block_action(block, voters=range(4)))
    assert world.live.height() == 1


def test_a_wrong_merkle_path(world: World, block: Any) -> None:
    digests = [block_digest(block), bytes(32)]
    good = world.decider.actions(world.live.address, APPEND_BLOCK, digests)[0]
    bad = (*good[:3], [bytes(32)])
    leaf = world.decider.leaf(world.live.address, APPEND_BLOCK, digests[0], 0, 2)
    assert refusal(world.live, "append", block, bad) == ("NotCertified", leaf, good[0][2])
    world.live.append(block, good)
    assert progress(world, good) == (1, 2)


@pytest.mark.parametrize("change", ["chain", "contract", "selector", "digest"])
def test_a_certificate_for_something_else(world: World, block: Any, change: str) -> None:
    target, function, digest = world.live.address, APPEND_BLOCK, block_digest(block)
    leaf = world.decider.leaf(target, function, digest)
    if change == "chain":
        world.decider.chain_id += 1
    target = world.archive.address if change == "contract" else target
    function = REDACT if change == "selector" else function
    digest = bytes(32) if change == "digest" else digest
    action = world.decider.action(target, function, digest)
    assert refusal(world.live, "append", block, action) == ("NotCertified", leaf, action[0][2])


def test_a_replayed_proposal(world: World) -> None:
    block = world.scene.block([[]])
    action = world.block_action(block)
    world.live.append(block, action)
    assert refusal(world.live, "append", block, action) == ("ChunkOutOfOrder", action[0][1], 0, 1)


def three_chunks(world: World) -> tuple[list[Any], list[Any]]:
    """Three redactions, one for each of three published blocks, under one certificate."""
    for _ in range(3):
        world.publish([[]])
    parts = [world.scene.redaction([position(height, 0)]) for height in (1, 2, 3)]
    digests = [redaction_digest(*part) for part in parts]
    return parts, world.decider.actions(world.live.address, REDACT, digests)


def test_chunks_run_in_order_and_settle_together(world: World) -> None:
    parts, actions = three_chunks(world)
    proposal = actions[0][0][1]
    places = [position(height, 0) for height in (1, 2, 3)]
    assert refusal(world.live, "redact", *parts[1], actions[1]) == ("ChunkOutOfOrder", proposal, 1, 0)
    for done, (part, action) in enumerate(zip(parts, actions, strict=True), start=1):
        transaction = world.live.redact(*part, action)
        assert transaction.events["ChunkExecuted"]["done"] == done
        assert progress(world, action) == (done, 3)
        settled = [each[7] for each in world.live.transactions(places)]
        assert settled == ([True] * 3 if done == 3 else [index >= done for index in range(3)])
    assert refusal(world.live, "redact", *parts[2], actions[2]) == ("ChunkOutOfOrder", proposal, 2, 3)


def test_a_chunk_cannot_run_twice(world: World) -> None:
    parts, actions = three_chunks(world)
    world.live.redact(*parts[0], actions[0])
    assert refusal(world.live, "redact", *parts[0], actions[0]) == ("ChunkOutOfOrder", actions[0][0][1], 0, 1)


def test_another_number_of_chunks(world: World) -> None:
    parts, actions = three_chunks(world)
    proposal = actions[0][0][1]
    world.live.redact(*parts[0], actions[0])
    digests = [redaction_digest(*part) for part in parts[:2]]
    shorter = world.decider.actions(world.live.address, REDACT, digests, proposal=proposal)
    found = refusal(world.live, "redact", *parts[1], shorter[1])
    assert found == ("ChunkCountChanged", proposal, 2, 3)


def test_a_proposal_of_no_chunks(world: World, block: Any) -> None:
    leaf = world.decider.leaf(world.live.address, APPEND_BLOCK, block_digest(block), 0, 0)
    proposal = world.decider.fresh_proposal()
    root = merkle.root([leaf])
    certificate = world.decider.panel.certificate(world.decider.domain, 1, proposal, root, range(3))
    found = refusal(world.live, "append", block, (certificate, 0, 0, []))
    assert found == ("ChunkCountChanged", proposal, 0, 1)


def test_a_new_decision_settles_what_an_unfinished_one_left(world: World) -> None:
    parts, actions = three_chunks(world)
    world.live.redact(*parts[0], actions[0])
    world.scene.settle(*parts[0])
    assert not world.live.transaction(position(1, 0))[7]
    world.redact([position(1, 0)])
    assert world.live.transaction(position(1, 0))[7]


def progress(world: World, action: tuple[Any, ...]) -> tuple[int, int]:
    done, chunks = world.live.progress(action[0][1])
    return int(done), int(chunks)


def _checksummed(*addresses: bytes) -> list[str]:
    from eth_utils import to_checksum_address

    return [to_checksum_address(address) for address in addresses]
