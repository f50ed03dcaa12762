# SPDX-License-Identifier: Apache-2.0
"""Publish, archive and redact against real contracts, on Ganache and on Anvil given by URL."""

from __future__ import annotations

import dataclasses

import pytest

from blockful_py.chain import live_slots
from blockful_py.chain.calls import Call, access_list, intrinsic_gas
from blockful_py.crypto import payload
from blockful_py.errors import ChainError, ContractError
from blockful_py.types import ArchiveReason, ArchiveRecord, Position
from tests.chain.conftest import Scene
from tests.chain.council import OWNER, Council, uri


def test_genesis_is_bound_to_chain_and_contract(scene: Scene) -> None:
    live = scene.live
    assert live.block_hash(0) == payload.genesis_block_hash(live.chain_id, live.address)


def test_a_block_is_appended_and_read_back(scene: Scene) -> None:
    live, council = scene.live, scene.council
    first, parent = live.height() + 1, live.block_hash(live.height())
    block = council.block(live, 2)
    (action,) = council.certify(live, [live.append_leaf(block, 0, 1)])
    receipt = live.send(live.append_data(block, action))

    assert receipt.gas_used > 21_000
    names = [name for name, _ in receipt.events]
    assert sorted(names) == ["BlockAppended", "ModelPublished", "ModelPublished"]
    published = dict(receipt.events)["ModelPublished"]
    assert published["owner"] == OWNER
    assert published["references"] == ()
    assert live.height() == first
    assert live.progress(action.certificate.proposal) == (1, 1)
    assert live.executed_in(action.certificate.proposal, 0) == receipt.transaction_hash
    assert live.progress(bytes(32)) == (0, 0)

    header = live.header(first)
    assert header.parent_hash == parent
    assert (header.ch, header.opening, header.version, header.epoch) == (block.ch, None, 0, 1)
    assert (header.timestamp, header.tx_count) == (block.timestamp, 2)
    hashed = payload.block_hash(header.parent_hash, header.ch, header.merkle_root, header.timestamp)
    assert live.block_hash(first) == hashed

    current = live.transaction(Position(first, 1))
    assert current.uri == uri(f"{first}:1")
    assert current.opening is None
    assert live.appended(first, [each.uri for each in block.publications]) == block
    with pytest.raises(ChainError, match="not of the content"):
        live.appended(first, [uri("another"), current.uri])
    assert (current.version, current.epoch, current.owner, current.settled) == (0, 1, OWNER, True)


def test_models_are_redacted_in_two_chunks_under_one_certificate(scene: Scene) -> None:
    live, council = scene.live, scene.council
    first = live.height() + 1
    for references in ((), (Position(first, 0), Position(first, 1))):
        block = council.block(live, 3, references)
        live.send(live.append_data(block, council.certify(live, [live.append_leaf(block, 0, 1)])[0]))
    positions = [Position(first, 0), Position(first, 2), Position(first + 1, 1)]
    before = {each.position: each for each in live.transactions(positions)}
    chunks = [council.redaction(live, positions[:2]), council.redaction(live, positions[2:])]
    actions = council.certify(live, [live.redact_leaf(*chunk, i, 2) for i, chunk in enumerate(chunks)])

    live.send(live.redact_data(*chunks[0], actions[0]))
    assert not live.transaction(positions[0]).settled
    live.send(live.redact_data(*chunks[1], actions[1]))
    after = live.transactions(positions)

    for current in after:
        old = before[current.position]
        assert current.settled
        assert current.version == 1
        assert current.uri == uri(f"{current.position} again")
        assert (current.ch, current.owner, current.references) == (old.ch, old.owner, old.references)
    assert after[2].references == (Position(first, 0), Position(first, 1))
    assert live.header(first).version == 1
    assert [each.opening for each in after] == [each.opening for chunk in chunks for each in chunk[0]]
    assert live.header(first).opening == chunks[0][1][0].opening
    replaced = live.redacted()[actions[0].certificate.proposal]
    assert [(list(each.updates), list(each.header_updates)) for each in replaced] == chunks
    assert live.progress(actions[0].certificate.proposal) == (2, 2)
    logged = [each for each in live.redactions() if each.position in positions]
    assert [(each.position, each.version, each.uri) for each in logged] == [
        (each.position, 1, each.uri) for each in after
    ]


def test_the_archive_grows_by_its_hash_chain(scene: Scene) -> None:
    archive, council = scene.archive, scene.council
    start, head = archive.length(), archive.head()
    if start == 0:
        assert head == payload.archive_genesis_head(archive.chain_id, archive.address)
    records = [
        ArchiveRecord(Position(1, i), 0, ArchiveReason.PUBLISHED, uri(f"archived {i}")) for i in range(3)
    ]
    timestamp = archive.node.timestamp()
    (action,) = council.certify(archive, [archive.append_leaf(head, timestamp, records, 0, 1)])
    receipt = archive.send(archive.append_data(head, timestamp, records, action))

    stored = archive.records(start, 3)
    assert [each.record for each in stored] == records
    assert [each.index for each in stored] == list(range(start, start + 3))
    for each in stored:
        head = payload.archive_head_step(head, each.index, each.record, each.timestamp)
    assert archive.head() == head
    assert archive.length() == start + 3
    assert archive.archived(start) == stored
    assert [arguments["head"] for name, arguments in receipt.events if name == "Archived"] == [head]
    proposal = action.certificate.proposal
    assert archive.progress(proposal) == (1, 1)
    assert archive.executed_in(proposal, 0) == receipt.transaction_hash
    assert archive.executed_in(proposal, 1) is None


def test_an_auditor_is_registered_and_removed(scene: Scene) -> None:
    archive, council = scene.archive, scene.council
    key = council.roster.group_key
    for x, y in ((key.x, key.y), (0, 0)):
        (action,) = council.certify(archive, [archive.set_auditor_leaf(OWNER, x, y, 0, 1)])
        archive.set_auditor(OWNER, x, y, action)
        assert archive.auditor_key(OWNER) == (x, y)


def test_both_quorum_contracts_hold_the_roster_and_one_domain(scene: Scene) -> None:
    for contract in (scene.committee, scene.mirror):
        assert contract.current_epoch() >= 1
        assert contract.roster(1) == (scene.council.roster, 3)
        assert contract.domain_separator() == scene.council.domain.separator()
    assert scene.committee.key_id(99) == bytes(32)
    assert scene.committee._read("appointer") == scene.sender.address


def test_custom_errors_arrive_by_name_with_their_arguments(scene: Scene) -> None:
    live, council = scene.live, scene.council
    block = council.block(live, 1)
    wrong = dataclasses.replace(block, parent_hash=bytes(32))
    (action,) = council.certify(live, [live.append_leaf(wrong, 0, 1)])
    with pytest.raises(ContractError) as refused:
        live.send(live.append_data(wrong, action))
    assert (refused.value.contract, refused.value.name) == ("LiveChain", "ParentMismatch")
    assert refused.value.arguments == {"given": bytes(32), "head": live.block_hash(live.height())}


def test_errors_of_a_contract_that_was_called_in_turn_are_known(scene: Scene) -> None:
    live, council = scene.live, scene.council
    block = council.block(live, 1)
    (action,) = council.certify(live, [live.append_leaf(block, 0, 1)], voters=[0, 2])
    with pytest.raises(ContractError) as refused:
        live.send(live.append_data(block, action))
    assert refused.value.name == "QuorumNotReached"
    assert refused.value.arguments == {"votes": 2, "needed": 3}


def test_an_opening_of_another_place_is_refused(scene: Scene) -> None:
    live, council = scene.live, scene.council
    block = council.block(live, 2)
    swapped = dataclasses.replace(block, publications=block.publications[::-1])
    (action,) = council.certify(live, [live.append_leaf(swapped, 0, 1)])
    with pytest.raises(ContractError) as refused:
        live.send(live.append_data(swapped, action))
    assert refused.value.name == "InvalidOpening"
    assert refused.value.arguments == {"position": Position(live.height() + 1, 0).packed, "version": 0}


def test_an_unknown_position_is_named(scene: Scene) -> None:
    with pytest.raises(ContractError, match="UnknownPosition"):
        scene.live.transaction(Position(999, 0))
    with pytest.raises(ContractError, match="UnknownPosition"):
        scene.live.header(999)
    with pytest.raises(ContractError, match="UnknownRecord"):
        scene.archive.records(10**6, 1)


def test_a_contract_opened_without_a_sender_is_read_only(scene: Scene) -> None:
    live = type(scene.live)(scene.node, scene.live.address)
    block = scene.council.block(live, 1)
    with pytest.raises(ChainError, match="open it with a sender"):
        live.send(live.append_data(block, scene.council.certify(live, [bytes(32)])[0]))


def test_the_mirror_follows_the_committee_by_certificate(scene: Scene) -> None:
    """Last in this file, because certificates of epoch 1 are stale on the archive afterwards."""
    successor = Council.gathered(b"successor").roster
    (action,) = scene.council.certify(scene.mirror, [scene.mirror.advance_leaf(2, successor)])
    receipt = scene.mirror.advance(2, successor, action)
    started = dict(receipt.events)["EpochStarted"]
    assert (started["epoch"], started["members"]) == (2, successor.members)
    assert scene.mirror.roster(2)[0] == successor
    stale = ArchiveRecord(Position(1, 0), 0, ArchiveReason.PUBLISHED, uri("late"))
    archive, late = scene.archive, scene.council.archive(scene.archive, [stale])
    with pytest.raises(ContractError) as refused:
        archive.send(archive.append_data(archive.head(), archive.node.timestamp(), [stale], late))
    assert (refused.value.name, refused.value.arguments) == ("StaleEpoch", {"given": 1, "current": 2})


@pytest.mark.parametrize(
    "scene",
    ["anvil", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("ganache", "embedded"))],
    indirect=True,
)
def test_every_slot_that_is_declared_is_touched(scene: Scene) -> None:
    """EIP-2930: a slot saves 200 gas when it is written first, 100 when it is read first, and costs 1,900
    when the call does not touch it."""
    live, council = scene.live, scene.council
    first = live.height() + 1
    for references in ((), (Position(first, 0), Position(first, 3))):
        block = council.block(live, 24, references)
        (action,) = council.certify(live, [live.append_leaf(block, 0, 1)])
        _saved(scene, live.append_data(block, action), written=24 + 7)  # URIs; entries of 25, four to a slot
    chunk = council.redaction(live, [Position(height, i) for height in (first, first + 1) for i in range(24)])
    (action,) = council.certify(live, [live.redact_leaf(*chunk, 0, 1)])
    _saved(scene, live.redact_data(*chunk, action), written=2 * 24)  # URIs


def _saved(scene: Scene, data: bytes, written: int) -> None:
    """Sends a transaction undeclared, undoes it, and sends it as the adapter does."""
    live, rpc = scene.live, scene.node.rpc
    slots = live_slots.touched(live.interface, data, live.height())
    (before,) = rpc.batch([("evm_snapshot", ())])
    plain = scene.sender.send(Call(live.interface, live.address, data))
    assert rpc.batch([("evm_revert", (before,))]) == [True]
    declared = live.send(data)
    assert plain.gas_used - declared.gas_used == 100 * len(slots) + 100 * written - 2_400


def test_a_short_list_of_slots_is_not_worth_declaring(scene: Scene) -> None:
    call = Call(scene.live.interface, scene.live.address, bytes(4), slots=tuple(range(24)))
    assert access_list(call) == []
    longer = dataclasses.replace(call, slots=tuple(range(25)))
    assert len(access_list(longer)[0]["storageKeys"]) == 25
    assert intrinsic_gas(longer) - intrinsic_gas(call) == 2_400 + 25 * 1_900
