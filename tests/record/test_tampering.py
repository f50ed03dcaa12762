# SPDX-License-Identifier: Apache-2.0
"""Verification names the check that fails when anything of the record or the store is altered.

The record is altered in the contract's storage, the store in its files; both are put back.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.types import Position
from tests.federations import set_back, small, trained
from tests.record import slots
from tests.record.slots import Slots
from tests.record.tampering import (
    World,
    failures,
    flipped,
    from_a_stranger,
    last_digit,
    next_version,
    resigned,
    restored,
)


@pytest.fixture(scope="module")
def world(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with trained(small(), tmp_path_factory.mktemp("tamper") / "run", chains) as federation:
        federation.unlearn()
        places = {name: placed.position for name, placed in federation.catalogue().models.items()}
        assert federation.verify().passed
        yield World(federation, Slots(federation.contracts.live), places)


BELOW_S = ("a", "b")
BLOCK_OF_S = ("s", "t", "z")
ABOVE_S = ("x", "y")

STORE = {
    "a byte of the weights": (lambda w: w.damage(w.node("x").weights, flipped), {"x": "content"}),
    "a byte of the node": (lambda w: w.damage(w.federation.catalogue()["x"].uri, flipped), {"x": "content"}),
    "weights cut short": (lambda w: w.damage(w.node("z").weights, lambda data: data[:-1]), {"z": "content"}),
    "weights emptied": (lambda w: w.damage(w.node("z").weights, lambda data: b""), {"z": "content"}),
    "weights removed": (lambda w: w.file(w.node("z").weights).unlink(), {"z": "content"}),
}

RECORD = {
    "URI": (lambda w: w.flip(w.uri("x")), {"x": "content"}),
    "URI of another model": (
        lambda w: w.slots.write(w.uri("x"), w.slots.read(w.uri("z"))),
        {"x": "opening"},
    ),
    "codec": (lambda w: w.set_model("x", slots.DAG_PB, 1), {"x": "content"}),
    "a chameleon hash beyond the order": (
        lambda w: w.write_model("z", slots.CH, b"\xff" * 32),
        {"z": "opening", "s": "merkle", "t": "merkle"},
    ),
    "version back": (lambda w: w.set_model("x", slots.VERSION, 0), {"x": "opening"}),
    "version ahead": (lambda w: w.set_model("z", slots.VERSION, 1), {"z": "opening"}),
    "owner": (lambda w: w.write_model("x", slots.OWNER, bytes(20)), {"x": "opening"}),
    "epoch": (lambda w: w.set_model("x", slots.EPOCH, 9), {"x": "opening"}),
    "references": (lambda w: w.write_last_reference("x", w.places["b"]), {"x": "opening"}),
    "references to nowhere": (
        lambda w: w.write_last_reference("x", Position(999, 999)),
        {"x": "opening"},
    ),
    "Merkle leaf": (
        lambda w: w.flip_model("s", slots.CH),
        {"s": "opening", "t": "merkle", "z": "merkle"},
    ),
    "Merkle leaf with an opening": (
        lambda w: w.forge_transaction("z"),
        dict.fromkeys(BLOCK_OF_S, "merkle"),
    ),
    "Merkle leaf, opening and root": (
        lambda w: (w.forge_transaction("z"), w.forge_root("z")),
        dict.fromkeys(BLOCK_OF_S, "header") | dict.fromkeys(ABOVE_S, "link"),
    ),
    "Merkle root": (
        lambda w: w.flip_header("s", slots.MERKLE_ROOT),
        dict.fromkeys(BLOCK_OF_S, "merkle") | dict.fromkeys(ABOVE_S, "link"),
    ),
    "timestamp": (
        lambda w: w.set_time("s", 1),
        dict.fromkeys(BLOCK_OF_S, "header") | dict.fromkeys(ABOVE_S, "link"),
    ),
    "timestamp with an opening": (
        lambda w: w.forge_header("a"),
        dict.fromkeys((*BELOW_S, *BLOCK_OF_S, *ABOVE_S), "link"),
    ),
    "chameleon hash of a header": (
        lambda w: w.flip_header("s", slots.HEADER_CH),
        dict.fromkeys(BLOCK_OF_S, "header") | dict.fromkeys(ABOVE_S, "link"),
    ),
    "version of a header": (
        lambda w: w.set_header("s", slots.VERSION, 2),
        dict.fromkeys(BLOCK_OF_S, "header"),
    ),
    "epoch of a header": (
        lambda w: w.set_header("s", slots.EPOCH, 9),
        dict.fromkeys(BLOCK_OF_S, "header"),
    ),
    "parent hash": (
        lambda w: w.flip_header("x", slots.PARENT_HASH),
        dict.fromkeys(BLOCK_OF_S, "link") | {"x": "header", "y": "link"},
    ),
    "genesis": (
        lambda w: w.flip_header("a", slots.PARENT_HASH),
        dict.fromkeys(BELOW_S, "header") | dict.fromkeys((*BLOCK_OF_S, *ABOVE_S), "link"),
    ),
    "one model less in a block": (
        lambda w: w.set_header("s", slots.TX_COUNT, 2),
        {"s": "opening", "t": "opening"},  # references follow the models
    ),
    "one model more in a block": (
        lambda w: w.set_header("x", slots.TX_COUNT, 2),
        {"x": "header", "3:1": "header"},
    ),
    "more models in a block than a block can hold": (
        lambda w: w.set_header("x", slots.TX_COUNT, 255),
        {"3:4294967295": "header"},
    ),
    "no model in a block": (
        lambda w: w.set_header("y", slots.TX_COUNT, 0),
        {"4:4294967295": "header"},
    ),
    "a redaction that stopped half-way": (
        lambda w: w.slots.leave_unfinished(w.places["x"]),
        {"x": "settled"},
    ),
}

SIGNATURES = {
    "a statement signed by another user": lambda w: resigned(w, "x", user=1),
    "a statement of another owner": lambda w: resigned(w, "x", user=6, owner="0x" + "11" * 20),
    "a signature with another byte": lambda w: next_version(w, "x").model_copy(
        update={"signature": last_digit(w.node("x").signature)}
    ),
    "a signature of zeros": lambda w: next_version(w, "x").model_copy(update={"signature": "0x" + "00" * 64}),
    "signed references that are not those on the chain": lambda w: resigned(w, "x", user=6, references=()),
    "the version before": lambda w: w.node("x"),
    "the version that was to be forgotten": lambda w: restored(w, "x"),
    "a request without signatures": lambda w: next_version(w, "x", signatures=()),
    "a request that asks for something else": lambda w: next_version(w, "x", classes=(4,)),
    "a request from a model that is no ancestor": lambda w: from_a_stranger(w),
}


@pytest.mark.parametrize("what", STORE)
def test_a_damaged_store_is_named(world: World, what: str) -> None:
    tamper, expected = STORE[what]
    blocks = world.federation.stores.live.directory / "blocks"
    kept = {path: path.read_bytes() for path in blocks.rglob("*") if path.is_file()}
    try:
        tamper(world)
        assert failures(world) == expected
    finally:
        for path, data in kept.items():
            path.write_bytes(data)
    assert failures(world) == {}


@pytest.mark.parametrize("what", RECORD)
def test_an_altered_record_is_named(world: World, what: str) -> None:
    tamper, expected = RECORD[what]
    with set_back(world.federation, world.federation.nodes.live):
        tamper(world)
        assert failures(world) == expected
    assert failures(world) == {}


@pytest.mark.parametrize("what", SIGNATURES)
def test_a_colluding_committee_cannot_sign_for_owners(world: World, what: str) -> None:
    """All members make a valid opening and certificate for a node that its owners did not sign."""
    node = SIGNATURES[what](world)
    with set_back(world.federation, world.federation.nodes.live, world.federation.nodes.archive):
        world.collude("s" if node.name == "s" else "x", node)
        assert failures(world) == {node.name: "signature"}
    assert failures(world) == {}


def test_a_colluding_committee_can_redact_what_owners_signed(world: World) -> None:
    """The same construction without changes verifies: the cases above fail for the reasons they name."""
    with set_back(world.federation, world.federation.nodes.live, world.federation.nodes.archive):
        world.collude("x", next_version(world, "x"))
        assert failures(world) == {}
        assert world.federation.catalogue()["x"].version == 2


def test_verification_of_one_model_ignores_the_others(world: World) -> None:
    with set_back(world.federation, world.federation.nodes.live):
        world.set_model("x", slots.EPOCH, 9)
        assert world.federation.verify(["a", "z"]).passed
        outcome = world.federation.verify(["x", "z"])
    assert outcome.checked == 2
    (failure,) = outcome.failures
    assert (failure.model, failure.check) == (f"model x at {world.places['x']}", "opening")
    assert "version 1" in failure.detail
