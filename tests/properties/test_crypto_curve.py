# SPDX-License-Identifier: Apache-2.0
"""libsecp256k1 against the textbook formulas, and the laws of the group."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from blockful_py.crypto import curve, signature
from blockful_py.crypto.curve import N
from blockful_py.crypto.workspace import Workspace
from blockful_py.types import Point
from tests.crypto import slow_curve

SCALARS = st.integers(1, N - 1) | st.integers(1, 5) | st.integers(N - 5, N - 1)
DIGESTS = st.binary(min_size=32, max_size=32)


def affine(point: Point) -> tuple[int, int]:
    return point.x, point.y


@given(SCALARS, SCALARS)
@settings(max_examples=40)
def test_multiplication_equals_the_textbook(k: int, m: int) -> None:
    point = curve.multiply_base(k)
    assert affine(point) == slow_curve.multiply(slow_curve.G, k)
    assert affine(curve.multiply(point, m)) == slow_curve.multiply(affine(point), m)
    assert affine(curve.multiply(point, m)) == slow_curve.multiply(slow_curve.G, k * m % N)


@given(SCALARS, SCALARS, SCALARS)
@settings(max_examples=40)
def test_sums_equal_the_textbook(a: int, k: int, b: int) -> None:
    first, second = curve.multiply_base(a), curve.multiply_base(b)
    expected = slow_curve.add(affine(first), slow_curve.multiply(affine(second), k))
    if expected is not None:
        assert affine(curve.decompress(Workspace(2).add_multiple(first, k, second))) == expected
        assert curve.add(first, curve.multiply(second, k)) == Point(*expected)
    based = curve.sum_with_base(k, first)
    assert (based and affine(based)) == slow_curve.multiply(slow_curve.G, (k + a) % N)


@given(SCALARS, SCALARS, SCALARS)
def test_multiply_add(a: int, b: int, c: int) -> None:
    if (a * b + c) % N:
        assert curve.multiply_add(a, b, c) == (a * b + c) % N


@given(st.lists(SCALARS, max_size=20))
def test_inverses(scalars: list[int]) -> None:
    assert [a * b % N for a, b in zip(scalars, curve.inverses(scalars), strict=True)] == [1] * len(scalars)


@given(SCALARS, DIGESTS)
def test_a_signature_recovers_its_signer(secret: int, digest: bytes) -> None:
    signed = signature.sign(secret, digest)
    assert signed == signature.sign(secret, digest)
    assert signature.recover(digest, signed) == curve.address(curve.multiply_base(secret))


@given(st.integers(-5, 2**256 + 5), st.integers(-5, 2**256 + 5), st.integers(0, 2**256))
def test_recover_never_raises(r: int, s: int, e: int) -> None:
    found = curve.recover(r, s, e)
    assert found is None or curve.on_curve(found)


@given(st.binary(min_size=64, max_size=64), DIGESTS)
def test_random_bytes_are_nobodys_signature(data: bytes, digest: bytes) -> None:
    assert not signature.is_by(bytes(20), digest, data)
