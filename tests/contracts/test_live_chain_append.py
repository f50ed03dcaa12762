# SPDX-License-Identifier: Apache-2.0
"""Blocks: what is stored, what is logged, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from blockful_py.crypto import merkle, payload
from blockful_py.types import Position
from tests.contracts.refusal import refusal
from tests.contracts.world import World, position

PUBLICATION = ("ch", "opening", "uri", "codec", "owner", "references")
BLOCK = ("parent", "timestamp", "ch", "opening", "publications")


def replaced(value: tuple[Any, ...], names: tuple[str, ...], **changes: Any) -> tuple[Any, ...]:
    return tuple(changes.get(name, old) for name, old in zip(names, value, strict=True))


def with_model(block: tuple[Any, ...], index: int, **changes: Any) -> tuple[Any, ...]:
    models = list(block[4])
    models[index] = replaced(models[index], PUBLICATION, **changes)
    return replaced(block, BLOCK, publications=models)


def refused(world: World, block: tuple[Any, ...]) -> tuple[Any, ...]:
    return refusal(world.live, "append", block, world.block_action(block))


def test_the_genesis_header(world: World) -> None:
    live = world.live
    assert live.height() == 0
    assert bytes(live.blockHash(0)) == payload.genesis_block_hash(
        world.decider.chain_id, world.scene.contract
    )
    header = live.header(0)
    assert bytes(header[0]) == bytes(32)
    assert (header[1], header[6], header[7]) == (0, 0, 0)


def test_a_block_stands_as_it_was_proposed(world: World) -> None:
    world.publish([[], [], []])
    references = [[position(1, 0)], [position(1, 0), position(1, 2)], [], [position(1, i) for i in range(3)]]
    transaction = world.publish(references, 1_700_000_100)
    known = world.scene.blocks[2]
    header = world.live.header(2)
    assert bytes(header[0]) == known.parent_hash == bytes(world.live.blockHash(1))
    assert (header[1], header[3], header[4], header[6], header[7]) == (known.ch, 0, 1, 1_700_000_100, 4)
    assert bytes(header[5]) == known.root
    assert bytes(world.live.blockHash(2)) == world.scene.head
    for index, listed in enumerate(references):
        model = world.scene.models[position(2, index)]
        ch, _, uri, codec, version, epoch, owner, settled, found = world.live.transaction(position(2, index))
        assert (ch, bytes(uri), codec, version, epoch, settled) == (
            model.ch,
            model.uri.digest,
            0x55,
            0,
            1,
            True,
        )
        assert bytes.fromhex(owner[2:]) == model.owner
        assert list(found) == listed
        logged = transaction.events["ModelPublished"][index]
        assert (logged["position"], bytes(logged["uri"])) == (position(2, index), model.uri.digest)
        assert (logged["owner"], logged["codec"], list(logged["references"])) == (owner, 0x55, listed)
    appended = transaction.events["BlockAppended"]
    assert (appended["height"], appended["txCount"], appended["epoch"]) == (2, 4, 1)
    assert bytes(appended["merkleRoot"]) == known.root
    assert bytes(appended["blockHash"]) == world.scene.head


def test_many_references_overflow_their_slot(world: World) -> None:
    world.publish([[]] * 9)
    listed = [position(1, index) for index in range(9)]
    world.publish([listed[:4], listed[:5], listed])
    for index, count in enumerate((4, 5, 9)):
        assert list(world.live.transaction(position(2, index))[8]) == listed[:count]
    world.redact([position(2, 0), position(2, 1), position(2, 2)])
    assert list(world.live.transaction(position(2, 2))[8]) == listed


def test_the_root_is_over_the_chameleon_hashes(world: World) -> None:
    world.publish([[]] * 5)
    standing = world.live.transactions([position(1, index) for index in range(5)])
    leaves = [payload.block_leaf(Position(1, index), each[0]) for index, each in enumerate(standing)]
    assert bytes(world.live.header(1)[5]) == merkle.root(leaves)


def test_a_block_that_does_not_extend_the_head(world: World) -> None:
    world.publish([[]])
    block = replaced(world.scene.block([[]]), BLOCK, parent=bytes(32))
    assert refused(world, block) == ("ParentMismatch", bytes(32), bytes(world.live.blockHash(1)))


def test_a_block_before_its_parent(world: World) -> None:
    world.publish([[]], 1_700_000_000)
    found = refused(world, world.scene.block([[]], 1_699_999_999))
    assert found[:3] == ("TimestampOutOfRange", 1_699_999_999, 1_700_000_000)


def test_a_block_of_its_parents_second(world: World) -> None:
    world.publish([[]], 1_700_000_000)
    world.publish([[]], 1_700_000_000)
    assert world.live.height() == 2


def test_a_block_from_the_future(world: World) -> None:
    name, given, earliest, latest = refused(world, world.scene.block([[]], 2**40))
    assert (name, given, earliest) == ("TimestampOutOfRange", 2**40, 0)
    assert latest < 2**40


def test_an_empty_block(world: World) -> None:
    assert refused(world, world.scene.block([])) == ("InvalidBlockSize", 0, 128)


def test_a_block_that_is_too_large(world: World) -> None:
    block = world.scene.block([[]])
    assert refused(world, replaced(block, BLOCK, publications=block[4] * 129)) == (
        "InvalidBlockSize",
        129,
        128,
    )


@pytest.mark.parametrize("codec", [0, 0x54, 0x71, 0xFF])
def test_an_unknown_codec(world: World, codec: int) -> None:
    assert refused(world, with_model(world.scene.block([[]]), 0, codec=codec)) == ("UnknownCodec", codec)


def test_a_model_without_an_owner(world: World) -> None:
    block = with_model(world.scene.block([[], []]), 1, owner="0x" + "00" * 20)
    assert refused(world, block) == ("OwnerMissing", position(1, 1))


@pytest.mark.parametrize(
    "reference",
    [
        pytest.param(position(1, 2), id="beyond its block"),
        pytest.param(position(2, 0), id="in the same block"),
        pytest.param(position(3, 0), id="in a later block"),
        pytest.param(position(0, 0) + 1, id="in the genesis block"),
        pytest.param(position(1, 2**32 - 1), id="a header"),
    ],
)
def test_an_unknown_reference(world: World, reference: int) -> None:
    world.publish([[], []])
    found = refused(world, world.scene.block([[], [reference]]))
    assert found == ("UnknownReference", position(2, 1), reference)


def test_references_that_do_not_ascend(world: World) -> None:
    world.publish([[], []])
    first, second = position(1, 0), position(1, 1)
    assert refused(world, world.scene.block([[second, first]], record=False)) == (
        "ReferencesNotAscending",
        position(2, 0),
        first,
    )
    assert refused(world, world.scene.block([[first, first]], record=False)) == (
        "ReferencesNotAscending",
        position(2, 0),
        first,
    )
    assert refused(world, world.scene.block([[0]], record=False)) == (
        "ReferencesNotAscending",
        position(2, 0),
        0,
    )


@pytest.mark.parametrize("field", ["ch", "uri", "owner", "references", "opening", "codec"])
def test_an_opening_of_other_content(world: World, field: str) -> None:
    world.publish([[], []])
    block = world.scene.block([[position(1, 0)], [position(1, 0)]])
    changes = {
        "ch": block[4][1][0] ^ 1,
        "uri": bytes(32),
        "owner": "0x" + "11" * 20,
        "references": [position(1, 1)],
        "opening": block[4][0][1],
        "codec": 0x70,
    }
    spoilt = with_model(block, 1, **{field: changes[field]})
    assert refused(world, spoilt) == ("InvalidOpening", position(2, 1), 0)


def test_an_opening_of_another_header(world: World) -> None:
    block = world.scene.block([[]])
    assert refused(world, replaced(block, BLOCK, ch=block[2] ^ 1)) == (
        "InvalidOpening",
        position(1, 2**32 - 1),
        0,
    )


def test_the_calldata_of_the_block_is_what_is_certified(world: World) -> None:
    """A block encoded behind its action is refused: its digest is taken over the bytes as they came."""
    from brownie import web3
    from eth_abi import decode, encode

    from tests.contracts.node import call
    from tests.contracts.scene import ACTION, NEW_BLOCK

    block = world.scene.block([[]])
    data = bytes.fromhex(world.live.append.encode_input(block, world.block_action(block))[2:])
    values = decode([NEW_BLOCK, ACTION], data[4:])
    tails = [encode([kind], [value])[32:] for kind, value in zip((NEW_BLOCK, ACTION), values, strict=True)]
    swapped = encode(["uint256", "uint256"], [64 + len(tails[1]), 64]) + tails[1] + tails[0]
    assert decode([NEW_BLOCK, ACTION], swapped) == values
    for body, refused_with_error in ((data[4:], False), (swapped, True)):
        request = {"to": world.live.address, "data": "0x" + (data[:4] + body).hex(), "gas": hex(10_000_000)}
        answer: Any = call(web3.provider.endpoint_uri, "eth_call", request, "latest")
        assert ("error" in answer) is refused_with_error


@pytest.mark.parametrize("method", ["header", "blockHash"])
def test_a_header_that_does_not_exist(world: World, method: str) -> None:
    world.publish([[]])
    getattr(world.live, method)(1)
    assert refusal(world.live, method, 2) == ("UnknownPosition", position(2, 2**32 - 1))


@pytest.mark.parametrize("place", [0, position(0, 0), position(1, 1), position(1, 2**32 - 1), 2**64 - 1])
def test_a_model_that_does_not_exist(world: World, place: int) -> None:
    world.publish([[]])
    assert refusal(world.live, "transaction", place) == ("UnknownPosition", place)
    assert refusal(world.live, "transactions", [position(1, 0), place]) == ("UnknownPosition", place)
