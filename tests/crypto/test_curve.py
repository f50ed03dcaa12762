# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable

import pytest

from blockful_py.crypto import curve
from blockful_py.crypto.curve import G, N, P
from blockful_py.errors import CryptoError, InvalidKeyError
from blockful_py.types import Point

OFF_CURVE = Point(G.x, G.y + 1)


def test_generator_and_its_order() -> None:
    assert curve.multiply_base(1) == G
    assert curve.multiply_base(N - 1) == curve.negate(G)


def test_address_of_the_key_one() -> None:
    assert curve.address(G).hex() == "7e5f4552091a69125d5dfcb7b8c2659029395bdf"


@pytest.mark.parametrize("scalar", [0, N, -1, 2**256])
@pytest.mark.parametrize(
    "operation",
    [
        curve.multiply_base,
        lambda scalar: curve.multiply(G, scalar),
        lambda scalar: curve.sum_with_base(scalar, G),
        lambda scalar: curve.sign(scalar, bytes(32)),
    ],
    ids=["multiply_base", "multiply", "sum_with_base", "sign"],
)
def test_scalars_out_of_range_are_refused(scalar: int, operation: Callable[[int], object]) -> None:
    with pytest.raises(InvalidKeyError):
        operation(scalar)


@pytest.mark.parametrize("point", [OFF_CURVE, Point(0, 0), Point(P, 1), Point(2**256, 1), Point(-1, 1)])
def test_what_is_no_point_is_refused(point: Point) -> None:
    assert not curve.on_curve(point)
    with pytest.raises(InvalidKeyError):
        curve.multiply(point, 2)
    with pytest.raises(InvalidKeyError):
        curve.add(G, point)


def test_infinity_is_refused() -> None:
    with pytest.raises(InvalidKeyError, match="infinity"):
        curve.add(G, curve.negate(G))
    with pytest.raises(InvalidKeyError):
        curve.total([])
    assert curve.sum_with_base(N - 1, G) is None


def test_encodings_round_trip() -> None:
    for scalar in range(1, 9):
        point = curve.multiply_base(scalar)
        assert curve.decompress(curve.compress(point)) == point
        assert curve.decode(curve.encode(point)) == point


@pytest.mark.parametrize("data", [b"", bytes(33), b"\x02" + b"\xff" * 32, b"\x04" + bytes(32)])
def test_bad_encodings_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidKeyError):
        curve.decompress(data)
    with pytest.raises(InvalidKeyError):
        curve.decode(data)


def test_multiply_add_refuses_zero() -> None:
    for a, b, c in ((1, 0, 1), (1, N, 1), (1, 1, N - 1), (1, 1, 0)):
        with pytest.raises(CryptoError):
            curve.multiply_add(a, b, c)


def test_signature_of_rfc6979_secp256k1() -> None:
    # Key 1, SHA-256 of "Satoshi Nakamoto": the vector used by Trezor and CoreBitcoin for RFC 6979.
    digest = bytes.fromhex("a0dc65ffca799873cbea0ac274015b9526505daaaed385155425f7337704883e")
    r, s, _ = curve.sign(1, digest)
    assert r == 0x934B1EA10A4B3C1757E2B0C017D0B6143CE3C9A7E6A4A49860D7A6AB210EE3D8
    assert s == 0x2442CE9D2B916064108014783E923EC36B49743E2FFA1C4496F01A512AAFD9E5
