# SPDX-License-Identifier: Apache-2.0
"""Compact ECDSA signatures (EIP-2098): r || (y parity << 255 | s), 64 bytes, s low.

Also the texts that wallets sign (`personal_sign`, EIP-191), and addresses as wallets show them (EIP-55).
"""

from __future__ import annotations

from blockful_py.crypto import curve
from blockful_py.crypto.keccak import keccak
from blockful_py.errors import InvalidSignatureError
from blockful_py.types import Address, Bytes32, Bytes64

_PARITY = 1 << 255


def sign(secret: int, digest: Bytes32) -> bytes:
    """Signs a 32-byte digest; deterministic for a secret and digest (RFC 6979).

    Raises InvalidKeyError unless the secret is in [1, n).
    """
    r, s, parity = curve.sign(secret, digest)
    return r.to_bytes(32, "big") + (parity << 255 | s).to_bytes(32, "big")


def recover(digest: Bytes32, signature: Bytes64) -> Address:
    """The signer's address, 20 bytes.

    Raises InvalidSignatureError for another length, a high s (EIP-2) or numbers that no key gives.
    """
    if len(signature) != 64 or len(digest) != 32:
        raise InvalidSignatureError(
            f"expected a digest of 32 bytes and a signature of 64, found {len(digest)} and {len(signature)}."
        )
    r, packed = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    s = packed & (_PARITY - 1)
    if s > curve.N // 2:
        raise InvalidSignatureError("the signature's s is above half the group order (EIP-2); normalise it.")
    # A point R with odd y is -R' of even y:  sR - eG = (-s)R' - eG.
    if packed & _PARITY:
        s = (curve.N - s) % curve.N
    key = curve.recover(r, s, int.from_bytes(digest, "big"))
    if key is None:
        raise InvalidSignatureError("no key gives this signature; it is damaged or of another digest.")
    return curve.address(key)


def compact(signature: bytes) -> Bytes64:
    """Converts a wallet's signature r || s || v (65 bytes; v 0, 1, 27 or 28) to the 64 bytes of EIP-2098.

    Signatures of 64 bytes are returned unchanged.  Raises InvalidSignatureError for another length or v, or a
    high s.
    """
    if len(signature) == 64:
        return signature
    s = int.from_bytes(signature[32:64], "big")
    if len(signature) != 65 or signature[64] not in (0, 1, 27, 28) or s > curve.N // 2:
        raise InvalidSignatureError(
            "a signature has 65 bytes, r, a low s and v (0, 1, 27 or 28), or the 64 of EIP-2098; found "
            f"{len(signature)}."
        )
    parity = (signature[64] - 27 if signature[64] >= 27 else signature[64]) << 255
    return signature[:32] + (parity | s).to_bytes(32, "big")


def is_by(address: Address, digest: Bytes32, signature: Bytes64) -> bool:
    """Whether `address` signed `digest`; malformed signatures give False."""
    try:
        return recover(digest, signature) == address
    except InvalidSignatureError:
        return False


def personal_digest(text: str) -> Bytes32:
    """keccak256(0x19 || "Ethereum Signed Message:\\n" || decimal length || message), version 0x45."""
    message = text.encode()
    return keccak(b"\x19Ethereum Signed Message:\n%d%b" % (len(message), message))


def checksummed(address: Address) -> str:
    """An address in hexadecimal, with the letter case given by its hash (EIP-55)."""
    text = address.hex()
    marks = keccak(text.encode()).hex()
    return "0x" + "".join(
        letter.upper() if int(mark, 16) > 7 else letter for letter, mark in zip(text, marks, strict=False)
    )
