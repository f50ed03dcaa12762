# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from blockful_py.crypto import curve, ecies
from blockful_py.crypto.randomness import SeededRng
from blockful_py.errors import CryptoError, InvalidKeyError
from blockful_py.types import Point

SECRET = curve.random_scalar(SeededRng(b"recipient"))
KEY = curve.multiply_base(SECRET)
BOX = ecies.seal(KEY, b"context", b"what is inside", SeededRng(b"ephemeral"))


@pytest.mark.parametrize("plain", [b"", b"x", bytes(1000)])
def test_what_is_sealed_is_unsealed(plain: bytes) -> None:
    box = ecies.seal(KEY, b"context", plain)
    assert ecies.unseal(SECRET, b"context", box) == plain
    assert len(box) == len(plain) + ecies.OVERHEAD


def test_both_sides_derive_one_secret() -> None:
    other = curve.random_scalar(SeededRng(b"other"))
    shared = curve.shared_secret(other, KEY)
    assert shared == curve.shared_secret(SECRET, curve.multiply_base(other))
    assert len(shared) == 32


def test_two_boxes_of_one_message_differ() -> None:
    assert ecies.seal(KEY, b"context", b"x") != ecies.seal(KEY, b"context", b"x")


@pytest.mark.parametrize("place", [0, 1, 20, 33, len(BOX) - 17, len(BOX) - 16, len(BOX) - 1])
def test_a_damaged_box_does_not_open(place: int) -> None:
    damaged = BOX[:place] + bytes([BOX[place] ^ 1]) + BOX[place + 1 :]
    with pytest.raises(CryptoError):
        ecies.unseal(SECRET, b"context", damaged)


@pytest.mark.parametrize("box", [b"", BOX[:33], BOX[:-1], BOX[: ecies.OVERHEAD - 1], BOX + b"\0"])
def test_a_box_of_another_length_does_not_open(box: bytes) -> None:
    with pytest.raises(CryptoError):
        ecies.unseal(SECRET, b"context", box)


def test_a_box_opens_for_its_recipient_and_context_only() -> None:
    with pytest.raises(CryptoError, match="another recipient"):
        ecies.unseal(SECRET + 1, b"context", BOX)
    with pytest.raises(CryptoError, match="another context"):
        ecies.unseal(SECRET, b"contexts", BOX)


def test_nothing_is_sealed_to_what_is_no_key() -> None:
    with pytest.raises(InvalidKeyError):
        ecies.seal(Point(1, 1), b"context", b"x")
