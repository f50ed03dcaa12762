# SPDX-License-Identifier: Apache-2.0
"""What the chameleon hash relies on: the ecrecover precompile at its edges (EIP-155, Yellow Paper E)."""

from __future__ import annotations

from typing import Any

import pytest

from blockful_py.crypto import curve
from blockful_py.crypto.keccak import keccak
from tests.contracts.scene import Panel

N = curve.N
DIGEST = keccak(b"platform")
ZERO = "0x" + "00" * 20


@pytest.fixture(scope="module")
def signature() -> tuple[int, int, int]:
    """r, s, v of a good signature over DIGEST by `SIGNER`."""
    r, s, parity = curve.sign(Panel.seeded(1, "platform").secrets[0], DIGEST)
    return r, s, 27 + parity


def word(value: int) -> bytes:
    return value.to_bytes(32, "big")


def test_recovers_the_signer(harness: Any, signature: tuple[int, int, int]) -> None:
    r, s, v = signature
    expected = Panel.seeded(1, "platform").addresses[0]
    assert bytes.fromhex(harness.recover(DIGEST, v, word(r), word(s))[2:]) == expected


def test_accepts_high_s(harness: Any, signature: tuple[int, int, int]) -> None:
    r, s, v = signature
    expected = Panel.seeded(1, "platform").addresses[0]
    assert bytes.fromhex(harness.recover(DIGEST, 55 - v, word(r), word(N - s))[2:]) == expected


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("r is 0", lambda r, s, v: (0, s, v)),
        ("r is n", lambda r, s, v: (N, s, v)),
        ("s is 0", lambda r, s, v: (r, 0, v)),
        ("s is n", lambda r, s, v: (r, N, v)),
        ("s is above n", lambda r, s, v: (r, 2**256 - 1, v)),
        ("v is 26", lambda r, s, v: (r, s, 26)),
        ("v is 29", lambda r, s, v: (r, s, 29)),
        ("v is 0", lambda r, s, v: (r, s, 0)),
        ("v has high bits", lambda r, s, v: (r, s, v + 2**128)),
        ("r is no x of the curve", lambda r, s, v: (5, s, v)),
    ],
)
def test_returns_no_bytes(harness: Any, signature: tuple[int, int, int], name: str, change: Any) -> None:
    r, s, v = change(*signature)
    assert harness.recoveredBytes(DIGEST, v, word(r), word(s)) == 0, name


def test_v_names_the_parity_of_y(harness: Any) -> None:
    """ecrecover(e, 27, R.x, t) takes the R whose y is even: with e = 0, t = R.x it returns address(R)."""
    for secret in range(1, 20):
        point = curve.multiply_base(secret)
        even = point if point.y % 2 == 0 else curve.negate(point)
        found = harness.recover(bytes(32), 27, word(point.x), word(point.x))
        assert bytes.fromhex(found[2:]) == curve.address(even)


def test_a_digest_of_zero_is_no_edge(harness: Any) -> None:
    assert harness.recover(bytes(32), 27, word(curve.multiply_base(1).x), word(1)) != ZERO


def test_points_of_the_curve(harness: Any) -> None:
    for secret in (1, 2, 3, N - 1):
        point = curve.multiply_base(secret)
        assert harness.isOnCurve(point.x, point.y)
        assert not harness.isOnCurve(point.x, point.y + 1)
        assert not harness.isOnCurve(point.x + 1, point.y)
    assert not harness.isOnCurve(0, 0)
    assert not harness.isOnCurve(1, curve.P)
    # 8^(1/2) mod p is a y of x = 1; x = 1 + p is the same residue, out of range.
    y = pow(8, (curve.P + 1) // 4, curve.P)
    assert harness.isOnCurve(1, y)
    assert not harness.isOnCurve(1 + curve.P, y)
