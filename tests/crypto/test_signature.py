# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from blockful_py.crypto import curve, signature
from blockful_py.crypto.curve import N
from blockful_py.crypto.keccak import keccak
from blockful_py.errors import InvalidKeyError, InvalidSignatureError

SECRET = 0x1234567890123456789012345678901234567890123456789012345678901234
ADDRESS = curve.address(curve.multiply_base(SECRET))
DIGEST = keccak(b"digest")


def personal(message: bytes) -> bytes:
    """EIP-191, version E."""
    return keccak(b"\x19Ethereum Signed Message:\n" + str(len(message)).encode() + message)


@pytest.mark.parametrize(
    ("message", "r", "s"),
    [
        (
            b"Hello World",
            "68a020a209d3d56c46f38cc50a33f704f4a9a10a59377f8dd762ac66910e9b90",
            "7e865ad05c4035ab5792787d4a0297a43617ae897930a6fe4d822b8faea52064",
        ),
        (
            b"It's a small(er) world",
            "9328da16089fcba9bececa81663203989f2df5fe1faa6291a45381c81bd17f76",
            "939c6d6b623b42da56557e5e734a43dc83345ddfadec52cbe24d0cc64f550793",
        ),
    ],
    ids=["parity 0", "parity 1"],
)
def test_examples_of_eip_2098(message: bytes, r: str, s: str) -> None:
    signed = signature.sign(SECRET, personal(message))
    assert signed.hex() == r + s
    assert signature.recover(personal(message), signed) == ADDRESS


def test_another_digest_recovers_another_address() -> None:
    signed = signature.sign(SECRET, DIGEST)
    assert signature.is_by(ADDRESS, DIGEST, signed)
    assert not signature.is_by(ADDRESS, keccak(DIGEST), signed)
    assert not signature.is_by(bytes(20), DIGEST, signed)


@pytest.mark.parametrize(
    "damage",
    [
        lambda signed: signed[:32] + (N // 2 + 1).to_bytes(32, "big"),
        lambda signed: signed[:63],
        lambda signed: signed + b"\x1b",
        lambda signed: bytes(32) + signed[32:],
        lambda signed: signed[:32] + bytes(32),
        lambda signed: N.to_bytes(32, "big") + signed[32:],
        lambda signed: (5).to_bytes(32, "big") + signed[32:],
    ],
    ids=["high s", "short", "65 bytes", "r = 0", "s = 0", "r = n", "r not on the curve"],
)
def test_malformed_signatures_are_refused(damage: object) -> None:
    assert callable(damage)
    damaged = damage(signature.sign(SECRET, DIGEST))
    with pytest.raises(InvalidSignatureError):
        signature.recover(DIGEST, damaged)
    assert not signature.is_by(ADDRESS, DIGEST, damaged)


def test_secret_out_of_range() -> None:
    with pytest.raises(InvalidKeyError):
        signature.sign(N, DIGEST)


def test_digest_of_another_length() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        signature.sign(SECRET, DIGEST + b"\0")
    with pytest.raises(InvalidSignatureError, match="32 bytes"):
        signature.recover(DIGEST[:31], signature.sign(SECRET, DIGEST))


def test_a_wallets_signature_becomes_a_compact_one() -> None:
    made = signature.sign(SECRET, DIGEST)
    s = int.from_bytes(made[32:], "big")
    plain = made[:32] + (s & ((1 << 255) - 1)).to_bytes(32, "big")
    for start in (0, 27):
        assert signature.compact(plain + bytes([start + (s >> 255)])) == made
        assert not signature.is_by(
            ADDRESS, DIGEST, signature.compact(plain + bytes([start + 1 - (s >> 255)]))
        )
    assert signature.compact(made) == made


@pytest.mark.parametrize(
    "other", [b"", bytes(66), bytes(64) + b"\x02", bytes(64) + b"\x1d", bytes(32) + b"\xff" * 32 + b"\x1b"]
)
def test_what_is_no_wallets_signature_is_refused(other: bytes) -> None:
    with pytest.raises(InvalidSignatureError, match="a signature has 65 bytes"):
        signature.compact(other)
