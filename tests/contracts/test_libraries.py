# SPDX-License-Identifier: Apache-2.0
"""The libraries for chameleon hashes, Merkle roots and packed references match their Python versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from blockful_py.crypto import chameleon, curve, merkle
from blockful_py.crypto.keccak import keccak, words
from blockful_py.crypto.randomness import SeededRng
from tests.contracts.slow_chameleon import verify as slow_verify
from tests.crypto.drawn import drawn_hash

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "chameleon.json").read_text())
OPENINGS = 500


def number(text: str) -> int:
    return int(text, 16)


def data(text: str) -> bytes:
    return bytes.fromhex(text[2:])


def positive_vectors() -> list[tuple[Any, ...]]:
    cases: list[tuple[Any, ...]] = []
    for item in VECTORS["single"]:
        place = (data(item["keyId"]), data(item["label"]))
        h = number(item["h"])
        cases.append((*place, data(item["m0"]), h, number(item["px"]), number(item["s"])))
        for each in item["collisions"]:
            cases.append((*place, data(each["m"]), h, number(each["px"]), number(each["s"])))
    for item in VECTORS["threshold"]:
        for each in item["items"]:
            place = (data(item["keyId"]), data(each["label"]), data(each["m"]))
            cases.append((*place, number(each["h"]), number(each["px"]), number(each["s"])))
    return cases


def negative_vectors() -> list[tuple[str, tuple[Any, ...]]]:
    cases = []
    for each in VECTORS["negative"]:
        place = (data(each["keyId"]), data(each["label"]), data(each["m"]))
        cases.append((each["why"], (*place, number(each["h"]), number(each["px"]), number(each["s"]))))
    return cases


def test_there_are_vectors_of_both_kinds() -> None:
    assert len(positive_vectors()) >= 4
    assert len(negative_vectors()) == 16


def test_the_sample_openings_open(harness: Any) -> None:
    for case in positive_vectors():
        assert harness.verify(case)
        assert slow_verify(*case)


@pytest.mark.parametrize(("why", "case"), negative_vectors())
def test_the_bad_samples_are_refused(harness: Any, why: str, case: tuple[Any, ...]) -> None:
    assert not harness.verify(case), why
    assert not slow_verify(*case), why


def random_cases(count: int) -> list[tuple[tuple[Any, ...], bool]]:
    """Openings by hashing and by collision, every third one spoilt in one of six places."""
    rng = SeededRng(b"differential openings")
    secret, key = chameleon.keygen(rng)
    cases = []
    for index in range(count):
        label, message = rng(32), rng(32)
        h, opening = chameleon.hash_message(key, label, message)
        if index % 2:
            message = rng(32)
            opening = chameleon.collide(secret, label, message, h, rng)
        case = [curve.key_id(key), label, message, h, opening.px, opening.s]
        if index % 3 == 0:
            place = (index // 3) % 6
            case[place] = rng(32) if place < 3 else int.from_bytes(rng(32), "big")
        cases.append((tuple(case), index % 3 != 0))
    return cases


def test_random_openings_agree_between_python_and_solidity(harness: Any) -> None:
    cases = random_cases(OPENINGS)
    assert list(harness.verifyAll([case for case, _ in cases])) == [expected for _, expected in cases]
    assert [slow_verify(*case) for case, _ in cases[:40]] == [expected for _, expected in cases[:40]]


def test_the_label_and_message_are_those_of_python(harness: Any) -> None:
    from brownie import chain

    rng = SeededRng(b"labels")
    _, key = chameleon.keygen(rng)
    contract = bytes.fromhex(harness.address[2:])
    for position, version in ((1 << 32, 0), (7 << 32 | 3, 1), (2**64 - 1, 2**32 - 1)):
        content = rng(32)
        label = chameleon.label(chain.id, contract, position)
        message = chameleon.message(version, content)
        h, opening = chameleon.hash_message(key, label, message)
        place = (h, opening.px, opening.s)
        assert harness.opens(curve.key_id(key), position, version, content, *place)
        assert not harness.opens(curve.key_id(key), position, version + 1, content, *place)
        assert not harness.opens(curve.key_id(key), position - 1, version, content, *place)
        assert not harness.opens(curve.key_id(key), position, version, keccak(content), *place)


def test_first_openings_are_those_of_python(harness: Any) -> None:
    """Of hashes in Python, and of openings drawn at random or by the trapdoor, which Python does not find."""
    from brownie import chain

    rng = SeededRng(b"first openings")
    secret, key = chameleon.keygen(rng)
    contract, identifier = bytes.fromhex(harness.address[2:]), curve.key_id(key)
    for position in (1 << 32, 7 << 32 | 3, 2**64 - 1):
        content = rng(32)
        label = chameleon.label(chain.id, contract, position)
        message = chameleon.message(0, content)
        first = chameleon.hash_message(key, label, message)
        for h, opening in (
            first,
            drawn_hash(key, label, message, rng),
            (first[0], chameleon.collide(secret, label, message, first[0], rng)),
        ):
            place = (h, opening.px, opening.s)
            assert harness.opens(identifier, position, 0, content, *place)
            expected = chameleon.first_opening(key, label, message, h) == opening
            assert (
                harness.opensFirst(identifier, position, content, *place) == expected == (opening == first[1])
            )


def test_verification_costs_at_most_3800_gas(harness: Any) -> None:
    spent = [harness.gasOfVerify(case) for case, good in random_cases(20) if good]
    assert max(spent) <= 3_800


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 31, 50, 128])
def test_the_merkle_root_is_openzeppelins(harness: Any, count: int) -> None:
    rng = SeededRng(b"merkle", count)
    values = [int.from_bytes(rng(32), "big") for _ in range(count)]
    positions = [9 << 32 | index for index in range(count)]
    leaves = [merkle.standard_leaf(words(*pair)) for pair in zip(positions, values, strict=True)]
    assert bytes(harness.merkleRoot(positions, values)) == merkle.root(leaves)
