# SPDX-License-Identifier: Apache-2.0
"""Redactions: what changes, what never does, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contracts.refusal import refusal
from tests.contracts.world import World, position

UPDATE = ("position", "version", "uri", "codec", "opening", "references_hash")
HEADER = ("height", "version", "opening")
FIRST, SECOND, OTHER = position(1, 0), position(1, 1), position(2, 0)


@pytest.fixture
def published(world: World) -> World:
    """Two models in block 1, and in block 2 one that refers to both."""
    world.publish([[], []])
    world.publish([[FIRST, SECOND]])
    return world


def replaced(value: tuple[Any, ...], names: tuple[str, ...], **changes: Any) -> tuple[Any, ...]:
    return tuple(changes.get(name, old) for name, old in zip(names, value, strict=True))


def refused(world: World, updates: list[Any], headers: list[Any]) -> tuple[Any, ...]:
    return refusal(world.live, "redact", updates, headers, world.redact_action(updates, headers))


def test_a_redaction_replaces_uri_and_opening_and_nothing_else(published: World) -> None:
    live = published.live
    places = [FIRST, SECOND, OTHER]
    models, headers = live.transactions(places), [live.header(h) for h in (1, 2)]
    hashes = [live.blockHash(height) for height in (0, 1, 2)]
    transaction = published.redact([FIRST, OTHER])
    after = live.transactions(places)
    assert after[1] == models[1]
    for old, new, place in ((models[0], after[0], FIRST), (models[2], after[2], OTHER)):
        assert (new[0], new[6], new[8]) == (old[0], old[6], old[8])
        assert new[1] != old[1]
        assert bytes(new[2]) == published.scene.models[place].uri.digest != bytes(old[2])
        assert (new[4], new[5], new[7]) == (1, 1, True)
    for height, old in enumerate(headers, start=1):
        new = live.header(height)
        assert (new[0], new[1], new[5], new[6], new[7]) == (old[0], old[1], old[5], old[6], old[7])
        assert new[2] != old[2]
        assert (new[3], new[4]) == (1, 1)
    assert [live.blockHash(height) for height in (0, 1, 2)] == hashes
    redacted = transaction.events["ModelRedacted"]
    assert [(each["position"], each["version"], each["codec"]) for each in redacted] == [
        (FIRST, 1, 0x55),
        (OTHER, 1, 0x55),
    ]
    assert [bytes(each["uri"]) for each in redacted] == [bytes(after[0][2]), bytes(after[2][2])]
    assert [(each["height"], each["version"]) for each in transaction.events["HeaderRedacted"]] == [
        (1, 1),
        (2, 1),
    ]


def test_versions_grow_by_one(published: World) -> None:
    for version in (1, 2, 3):
        published.redact([SECOND])
        assert published.live.transaction(SECOND)[4] == version
        assert published.live.header(1)[3] == version


@pytest.mark.parametrize("version", [0, 2, 2**32 - 1])
def test_a_version_that_is_not_the_next(published: World, version: int) -> None:
    updates, headers = published.scene.redaction([FIRST])
    skipped = [replaced(updates[0], UPDATE, version=version)]
    assert refused(published, skipped, headers) == ("VersionNotNext", FIRST, version, 1)


def test_an_opening_of_another_version(published: World) -> None:
    """The old opening opens the hash to the old version only, whatever version is claimed."""
    old = published.live.transaction(FIRST)
    published.redact([FIRST])
    updates, headers = published.scene.redaction([FIRST])
    back = [replaced(updates[0], UPDATE, uri=bytes(old[2]), opening=tuple(old[1]))]
    assert refused(published, back, headers) == ("InvalidOpening", FIRST, 2)


def test_the_opening_in_force(published: World) -> None:
    standing = published.live.transaction(FIRST)
    updates, headers = published.scene.redaction([FIRST])
    same = [replaced(updates[0], UPDATE, opening=tuple(standing[1]))]
    assert refused(published, same, headers) == ("OpeningReplayed", FIRST)


def test_an_opening_for_another_position(published: World) -> None:
    updates, headers = published.scene.redaction([FIRST, SECOND])
    moved = [replaced(updates[0], UPDATE, opening=updates[1][4]), updates[1]]
    assert refused(published, moved, headers) == ("InvalidOpening", FIRST, 1)


def test_an_opening_for_another_contract(published: World) -> None:
    published.scene.address = published.archive.address
    updates, headers = published.scene.redaction([FIRST])
    published.scene.address = published.live.address
    assert refused(published, updates, headers) == ("InvalidOpening", FIRST, 1)


def test_an_opening_for_another_chain(published: World) -> None:
    published.scene.chain_id += 1
    updates, headers = published.scene.redaction([FIRST])
    assert refused(published, updates, headers) == ("InvalidOpening", FIRST, 1)


def test_an_opening_for_another_uri(published: World) -> None:
    updates, headers = published.scene.redaction([FIRST])
    other = [replaced(updates[0], UPDATE, uri=bytes(32))]
    assert refused(published, other, headers) == ("InvalidOpening", FIRST, 1)


def test_a_spoilt_opening(published: World) -> None:
    updates, headers = published.scene.redaction([FIRST])
    px, s = updates[0][4]
    for opening in ((px, s ^ 1), (px ^ 1, s), (0, s), (px, 0)):
        spoilt = [replaced(updates[0], UPDATE, opening=opening)]
        assert refused(published, spoilt, headers) == ("InvalidOpening", FIRST, 1)


def test_a_duplicated_position(published: World) -> None:
    updates, headers = published.scene.redaction([FIRST])
    assert refused(published, updates * 2, headers) == ("PositionsNotAscending", FIRST, FIRST)


def test_positions_that_do_not_ascend(published: World) -> None:
    updates, headers = published.scene.redaction([FIRST, SECOND])
    assert refused(published, updates[::-1], headers) == ("PositionsNotAscending", FIRST, SECOND)


def test_changed_references(published: World) -> None:
    updates, headers = published.scene.redaction([OTHER])
    stored = updates[0][5]
    changed = [replaced(updates[0], UPDATE, references_hash=bytes(32))]
    assert refused(published, changed, headers) == ("ReferencesChanged", OTHER, bytes(32), stored)


def test_changed_references_with_an_opening_for_them(published: World) -> None:
    """The trapdoor opens to anything; the contract still compares with what it stores."""
    stored = published.scene.update(OTHER)[5]
    published.scene.models[OTHER].references = ()
    updates, headers = published.scene.redaction([OTHER])
    assert refused(published, updates, headers) == ("ReferencesChanged", OTHER, updates[0][5], stored)


@pytest.mark.parametrize("place", [position(1, 2), position(3, 0), position(1, 2**32 - 1)])
def test_an_unknown_position(published: World, place: int) -> None:
    updates, headers = published.scene.redaction([FIRST])
    lost = [replaced(updates[0], UPDATE, position=place)]
    assert refused(published, lost, headers) == ("UnknownPosition", place)


@pytest.mark.parametrize("codec", [0, 0x56, 0xFF])
def test_an_unknown_codec(published: World, codec: int) -> None:
    updates, headers = published.scene.redaction([FIRST])
    assert refused(published, [replaced(updates[0], UPDATE, codec=codec)], headers) == ("UnknownCodec", codec)


def test_nothing_to_redact(published: World) -> None:
    assert refused(published, [], []) == ("NothingToRedact",)


def test_header_updates_must_be_those_of_the_blocks(published: World) -> None:
    updates, headers = published.scene.redaction([FIRST, OTHER])
    assert refused(published, updates, headers[:1]) == ("HeaderUpdateMismatch", 1, 0, 2)
    assert refused(published, updates, headers[::-1]) == ("HeaderUpdateMismatch", 0, 2, 1)
    assert refused(published, updates[:1], headers) == ("HeaderUpdateMismatch", 1, 2, 0)
    assert refused(published, updates, []) == ("HeaderUpdateMismatch", 0, 0, 1)


def test_header_openings_are_checked_like_the_others(published: World) -> None:
    updates, headers = published.scene.redaction([FIRST])
    place = position(1, 2**32 - 1)
    skipped = [replaced(headers[0], HEADER, version=2)]
    assert refused(published, updates, skipped) == ("VersionNotNext", place, 2, 1)
    standing = tuple(published.live.header(1)[2])
    assert refused(published, updates, [replaced(headers[0], HEADER, opening=standing)]) == (
        "OpeningReplayed",
        place,
    )
    moved = [replaced(headers[0], HEADER, opening=updates[0][4])]
    assert refused(published, updates, moved) == ("InvalidOpening", place, 1)


def test_one_failure_reverts_all(published: World) -> None:
    before = published.live.transactions([FIRST, SECOND, OTHER])
    updates, headers = published.scene.redaction([FIRST, SECOND, OTHER])
    updates[2] = replaced(updates[2], UPDATE, version=5)
    with pytest.raises(Exception, match="VersionNotNext"):
        published.live.redact(updates, headers, published.redact_action(updates, headers))
    assert published.live.transactions([FIRST, SECOND, OTHER]) == before


def test_bits_beyond_a_type_are_refused(published: World) -> None:
    """Words of an update are compared whole: a position, version or codec has no second spelling."""
    from brownie import web3

    from tests.contracts.node import call
    from tests.contracts.scene import HEADER_UPDATE, digest

    updates, headers = published.scene.redaction([FIRST])
    wide = "(uint256,uint256,bytes32,uint256,(uint256,uint256),bytes32)[]"
    for field in ("position", "version", "codec"):
        value = dict(zip(UPDATE, updates[0], strict=True))[field]
        dirty = [replaced(updates[0], UPDATE, **{field: value + 2**200})]
        hashed = digest([wide, f"{HEADER_UPDATE}[]"], [dirty, headers])
        from tests.contracts.scene import REDACT

        action = published.decider.action(published.live.address, REDACT, hashed)
        data = bytes.fromhex(published.live.redact.encode_input(updates, headers, action)[2:])
        place = 4 + 3 * 32 + 32 + UPDATE.index(field) * 32
        body = data[:place] + (value + 2**200).to_bytes(32, "big") + data[place + 32 :]
        request = {"to": published.live.address, "data": "0x" + body.hex(), "gas": hex(10_000_000)}
        answer: Any = call(web3.provider.endpoint_uri, "eth_call", request, "latest")
        assert "error" in answer, field
