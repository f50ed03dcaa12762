# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from blockful_py.crypto import chameleon, curve
from blockful_py.crypto.curve import G, N
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.randomness import SeededRng
from blockful_py.errors import CryptoError, InvalidKeyError
from blockful_py.types import Opening, Point
from tests.crypto.vectors import VECTORS, data, number, scripted

SINGLE = VECTORS["single"][0]
KEY = curve.decode(data(SINGLE["Y"]))
LABEL = data(SINGLE["label"])
HASH = number(SINGLE["h"])


def opening_of(given: dict[str, str]) -> Opening:
    return Opening(number(given["px"]), number(given["s"]))


def test_domain_separation_tags() -> None:
    for name, text in VECTORS["dst_preimages"].items():
        assert chameleon.tag(text.rpartition("/")[2]) == data(VECTORS["dst"][name])


def test_key_of_the_vector() -> None:
    assert curve.multiply_base(number(SINGLE["x"])) == KEY
    assert curve.key_id(KEY) == data(SINGLE["keyId"])
    assert curve.address(KEY) == data(SINGLE["address"])


def test_label_and_message_of_the_vector() -> None:
    assert chameleon.label(SINGLE["chainId"], data(SINGLE["contract"]), int(SINGLE["txId"])) == LABEL
    assert chameleon.message(0, data(SINGLE["payload0"])) == data(SINGLE["m0"])


def test_an_opening_that_was_drawn_is_no_first_one() -> None:
    assert chameleon.verify(KEY, LABEL, data(SINGLE["m0"]), HASH, opening_of(SINGLE))
    assert chameleon.first_opening(KEY, LABEL, data(SINGLE["m0"]), HASH) is None


def test_first_openings_of_the_vector() -> None:
    first = VECTORS["first"]
    message = data(SINGLE["m0"])
    assert chameleon.hash_message(KEY, LABEL, message) == (number(first[0]["h"]), opening_of(first[0]))
    for given in first:
        assert chameleon.first_opening(KEY, LABEL, message, number(given["h"])) == opening_of(given)
    assert chameleon.first_opening(KEY, LABEL, keccak(message), number(first[0]["h"])) is None
    assert chameleon.first_opening(KEY, keccak(LABEL), message, number(first[0]["h"])) is None
    assert chameleon.first_opening(curve.negate(KEY), LABEL, message, number(first[0]["h"])) is None


@pytest.mark.parametrize("given", SINGLE["collisions"], ids=lambda given: f"version {given['version']}")
def test_collisions_of_the_vector(given: dict[str, Any]) -> None:
    message = chameleon.message(given["version"], data(given["payload"]))
    assert message == data(given["m"])
    opening = chameleon.collide(number(SINGLE["x"]), LABEL, message, HASH, scripted(number(given["k"])))
    assert opening == opening_of(given)
    assert chameleon.verify(KEY, LABEL, message, HASH, opening)
    assert chameleon.phi(opening.px) == number(given["phi"])
    c = chameleon.challenge(curve.key_id(KEY), LABEL, message, number(given["r"]))
    assert c == number(given["c"])
    called = given["ecrecover_in"]
    assert number(called["r"]) == opening.px
    assert number(called["s"]) == N - c * opening.px % N
    assert number(called["e"]) == N - opening.s * opening.px % N
    assert curve.recover(*(number(called[name]) for name in ("r", "s", "e"))) == KEY


def key_with_id(key_id: bytes) -> Point:
    keys = (curve.multiply_base(secret) for secret in range(1, 1000))
    return next(key for key in keys if curve.key_id(key) == key_id)


@pytest.mark.parametrize("given", VECTORS["negative"], ids=lambda given: given["why"].replace(" ", "-"))
def test_negative_vectors_are_refused(given: dict[str, str]) -> None:
    key_id = data(given["keyId"])
    if key_id == curve.key_id(KEY):
        label, message, h = data(given["label"]), data(given["m"]), number(given["h"])
        assert not chameleon.verify(KEY, label, message, h, opening_of(given))
        return
    # A wrong key id: the challenge alone separates the two.
    px, s = number(given["px"]), number(given["s"])
    r = (number(given["h"]) + chameleon.phi(px)) % N
    c = chameleon.challenge(key_id, data(given["label"]), data(given["m"]), r)
    assert curve.recover(px, N - c * px % N, N - s * px % N) != KEY


@pytest.fixture(scope="module")
def made() -> tuple[int, Point, bytes, bytes, int, Opening]:
    rng = SeededRng(b"chameleon tests")
    secret, key = chameleon.keygen(rng)
    label, message = chameleon.label(1337, b"\x11" * 20, 7), chameleon.message(0, rng(32))
    h, opening = chameleon.hash_message(key, label, message)
    return secret, key, label, message, h, opening


Made = tuple[int, Point, bytes, bytes, int, Opening]


def test_the_opening_holds_for_its_message_only(made: Made) -> None:
    _, key, label, message, h, opening = made
    assert chameleon.verify(key, label, message, h, opening)
    assert not chameleon.verify(key, label, keccak(message), h, opening)
    assert not chameleon.verify(key, keccak(label), message, h, opening)
    assert not chameleon.verify(curve.add(key, G), label, message, h, opening)
    assert not chameleon.verify(curve.negate(key), label, message, h, opening)


@pytest.mark.parametrize("name", ["h", "px", "s"])
@pytest.mark.parametrize("shift", [1, -1, N, -N, 2**256])
def test_a_changed_number_is_refused_without_raising(made: Made, name: str, shift: int) -> None:
    _, key, label, message, h, opening = made
    numbers = {"h": h, "px": opening.px, "s": opening.s}
    numbers[name] += shift
    changed = Opening(numbers["px"], numbers["s"])
    assert chameleon.verify(key, label, message, numbers["h"], changed) is False


@pytest.mark.parametrize(
    "key", [Point(0, 0), Point(1, 1), Point(-1, 2), Point(2**256, 1), Point(G.x + curve.P, G.y)]
)
def test_a_key_off_the_curve_is_refused_without_raising(made: Made, key: Point) -> None:
    _, _, label, message, h, opening = made
    assert chameleon.verify(key, label, message, h, opening) is False


def test_digests_of_another_length_are_an_error(made: Made) -> None:
    _, key, label, message, h, opening = made
    with pytest.raises(ValueError, match="32 bytes"):
        chameleon.verify(key, label, message + b"\0", h, opening)


def test_a_byte_moved_from_message_to_label_is_an_error(made: Made) -> None:
    """Label and message are hashed side by side: L || m[:1] and m[1:] are the same bytes."""
    secret, key, label, message, h, opening = made
    moved = label + message[:1], message[1:]
    with pytest.raises(ValueError, match=r"32 bytes each, not of \(32, 33, 31\)"):
        chameleon.verify(key, *moved, h, opening)
    with pytest.raises(ValueError, match="32 bytes each"):
        chameleon.hash_message(key, *moved)
    with pytest.raises(ValueError, match="32 bytes each"):
        chameleon.collide(secret, *moved, h)


def test_contracts_and_payloads_of_another_length_are_errors() -> None:
    with pytest.raises(ValueError, match="20 bytes"):
        chameleon.label(1337, bytes(32), 7)
    with pytest.raises(ValueError, match="32 bytes"):
        chameleon.message(1, bytes(20))


def test_two_openings_do_not_reveal_the_trapdoor(made: Made) -> None:
    # With h = g^m y^r, x = (m - m') / (r' - r).  Here the like quotient is not x.
    secret, _, label, message, h, opening = made
    other = chameleon.collide(secret, label, keccak(message), h, SeededRng(b"other"))
    quotient = (opening.s - other.s) * pow(opening.px - other.px, -1, N) % N
    assert curve.multiply_base(quotient) != made[1]


def test_a_collision_under_another_key_is_refused(made: Made) -> None:
    secret, key, label, message, h, _ = made
    assert not chameleon.verify(key, label, message, h, chameleon.collide(secret + 1, label, message, h))


def test_secrets_and_hashes_out_of_range_are_errors(made: Made) -> None:
    secret, _, label, message, _, _ = made
    with pytest.raises(InvalidKeyError):
        chameleon.collide(0, label, message, 5)
    with pytest.raises(CryptoError, match="below the order"):
        chameleon.collide(secret, label, message, N)
    with pytest.raises(InvalidKeyError):
        chameleon.hash_message(Point(1, 1), label, message)
