# SPDX-License-Identifier: Apache-2.0
"""Readers come and go by themselves; the committee can bar them and do nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from blockful_py.crypto import curve
from tests.contracts.refusal import refusal
from tests.contracts.scene import SET_BARRED, digest
from tests.contracts.world import World

FIELD = 2**256 - 2**32 - 977
KEY, OTHER = curve.multiply_base(77), curve.multiply_base(78)


@pytest.fixture(scope="module")
def deployed_registry(deployed: tuple[Any, ...]) -> Any:
    from brownie import ReaderRegistry, accounts

    committee, live = deployed[:2]
    return accounts[0].deploy(ReaderRegistry, committee, live)


@pytest.fixture
def registry(deployed_registry: Any, world: World) -> Any:
    """What a test does to it is undone after it."""
    return deployed_registry


@pytest.fixture
def reader() -> Any:
    from brownie import accounts

    return accounts[5]


def barred(world: World, registry: Any, account: Any, value: bool) -> tuple[Any, ...]:
    content = digest(["address", "bool"], [account.address, value])
    return (account, value, world.decider.action(registry.address, SET_BARRED, content))


def test_nobody_is_registered_at_first(registry: Any, reader: Any) -> None:
    assert tuple(registry.reader(reader)) == (0, 0, 0, False)


def test_who_registers_joins_before_the_next_block(world: World, registry: Any, reader: Any) -> None:
    world.publish([[]])
    world.publish([[]], timestamp=1_700_000_001)
    event = registry.register(KEY.x, KEY.y, {"from": reader}).events["ReaderRegistered"]
    assert (event["reader"], event["keyX"], event["keyY"], event["joined"]) == (reader, KEY.x, KEY.y, 3)
    assert tuple(registry.reader(reader)) == (KEY.x, KEY.y, 3, False)


def test_another_key_keeps_the_height(world: World, registry: Any, reader: Any) -> None:
    registry.register(KEY.x, KEY.y, {"from": reader})
    world.publish([[]])
    registry.register(OTHER.x, OTHER.y, {"from": reader})
    assert tuple(registry.reader(reader)) == (OTHER.x, OTHER.y, 1, False)


def test_who_leaves_and_returns_loses_the_height(world: World, registry: Any, reader: Any) -> None:
    registry.register(KEY.x, KEY.y, {"from": reader})
    world.publish([[]])
    assert registry.leave({"from": reader}).events["ReaderLeft"]["reader"] == reader
    assert tuple(registry.reader(reader)) == (0, 0, 0, False)
    registry.register(KEY.x, KEY.y, {"from": reader})
    assert registry.reader(reader)[2] == 2


def test_who_is_not_registered_cannot_leave(registry: Any, reader: Any) -> None:
    assert refusal(registry, "leave", sender=reader.address) == ("NotRegistered", reader.address)


@pytest.mark.parametrize(("x", "y"), [(0, 0), (KEY.x, KEY.y + 1), (FIELD, KEY.y)])
def test_what_is_no_point_is_no_key(registry: Any, reader: Any, x: int, y: int) -> None:
    found = refusal(registry, "register", x, y, sender=reader.address)
    assert found == ("InvalidReaderKey", reader.address)


def test_the_committee_bars_and_readmits(world: World, registry: Any, reader: Any) -> None:
    registry.register(KEY.x, KEY.y, {"from": reader})
    events = registry.setBarred(*barred(world, registry, reader, True)).events
    assert events["ReaderBarred"]["reader"] == reader
    assert tuple(registry.reader(reader)) == (0, 0, 0, True)
    found = refusal(registry, "register", KEY.x, KEY.y, sender=reader.address)
    assert found == ("ReaderIsBarred", reader.address)
    assert refusal(registry, "leave", sender=reader.address) == ("NotRegistered", reader.address)
    events = registry.setBarred(*barred(world, registry, reader, False)).events
    assert events["ReaderReadmitted"]["reader"] == reader
    assert tuple(registry.reader(reader)) == (0, 0, 0, False)
    registry.register(KEY.x, KEY.y, {"from": reader})


def test_who_never_registered_can_be_barred(world: World, registry: Any, reader: Any) -> None:
    registry.setBarred(*barred(world, registry, reader, True))
    found = refusal(registry, "register", KEY.x, KEY.y, sender=reader.address)
    assert found == ("ReaderIsBarred", reader.address)


@pytest.mark.parametrize("value", [True, False])
def test_barring_twice_is_refused(world: World, registry: Any, reader: Any, value: bool) -> None:
    if value:
        registry.setBarred(*barred(world, registry, reader, True))
    arguments = barred(world, registry, reader, value)
    assert refusal(registry, "setBarred", *arguments) == ("NothingToChange", reader.address)


def test_a_certificate_bars_whom_it_names_and_nobody_else(world: World, registry: Any, reader: Any) -> None:
    from brownie import accounts

    _, value, action = barred(world, registry, reader, True)
    assert refusal(registry, "setBarred", accounts[6], value, action)[0] == "NotCertified"
    assert refusal(registry, "setBarred", reader, not value, action)[0] == "NotCertified"


def test_a_certificate_works_once(world: World, registry: Any, reader: Any) -> None:
    arguments = barred(world, registry, reader, True)
    registry.setBarred(*arguments)
    registry.setBarred(*barred(world, registry, reader, False))
    assert refusal(registry, "setBarred", *arguments)[0] == "ChunkOutOfOrder"


def test_too_few_votes_bar_nobody(world: World, registry: Any, reader: Any) -> None:
    content = digest(["address", "bool"], [reader.address, True])
    action = world.decider.action(registry.address, SET_BARRED, content, voters=range(2))
    assert refusal(registry, "setBarred", reader, True, action)[0] == "QuorumNotReached"
