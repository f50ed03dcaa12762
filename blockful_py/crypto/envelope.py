# SPDX-License-Identifier: Apache-2.0
"""Bytes that one recipient can read: ECIES over secp256k1 (after SEC 1, version 2, section 5.1).

    e random, R = eG, k = HKDF-SHA256(SHA-256(eY), salt = R || Y, info = DST_envelope || context)
    box = R (33 bytes) || AES-256-GCM(k, nonce = 0, plain, associated data = context)

A key encrypts once, so its nonce may be constant.  `context` says what the bytes are for and by whom
they come; a box opens under that context only.  Who sealed a box is not proven: sign what carries it.
"""

from __future__ import annotations

from typing import Any

from Crypto.Cipher import AES
from Crypto.Hash import SHA256
from Crypto.Protocol.KDF import HKDF

from blockful_py.crypto import curve
from blockful_py.crypto.chameleon import tag
from blockful_py.crypto.randomness import system_rng
from blockful_py.errors import CryptoError, InvalidKeyError
from blockful_py.types import Point, Rng

DST_ENVELOPE = tag("envelope")
OVERHEAD = 33 + 16
"""Bytes that a box is longer than what it holds: the ephemeral key and the tag."""


def seal(recipient: Point, context: bytes, plain: bytes, rng: Rng = system_rng) -> bytes:
    """A box that only the holder of the secret of `recipient` can open.

    Raises InvalidKeyError when `recipient` is not on the curve.
    """
    ephemeral = curve.random_scalar(rng)
    public = curve.multiply_base(ephemeral)
    cipher = _cipher(curve.shared_secret(ephemeral, recipient), public, recipient, context)
    sealed, proof = cipher.encrypt_and_digest(plain)
    return b"".join((curve.compress(public), sealed, proof))


def unseal(secret: int, context: bytes, box: bytes) -> bytes:
    """What `seal` put into the box.

    Raises CryptoError for a box that is damaged, for someone else, or of another context.
    """
    if len(box) < OVERHEAD:
        raise CryptoError(f"a sealed box has {OVERHEAD} bytes or more, this has {len(box)}.")
    try:
        public = curve.decompress(box[:33])
        cipher = _cipher(curve.shared_secret(secret, public), public, curve.multiply_base(secret), context)
        return bytes(cipher.decrypt_and_verify(box[33:-16], box[-16:]))
    except (InvalidKeyError, ValueError):
        raise CryptoError("a sealed box is damaged, for another recipient or of another context.") from None


def _cipher(shared: bytes, public: Point, recipient: Point, context: bytes) -> Any:
    salt = curve.compress(public) + curve.compress(recipient)
    key: Any = HKDF(shared, 32, salt, SHA256, context=DST_ENVELOPE + context)
    cipher = AES.new(key, AES.MODE_GCM, nonce=bytes(12))
    cipher.update(context)
    return cipher
