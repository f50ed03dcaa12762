# SPDX-License-Identifier: Apache-2.0
"""Encryption to one recipient: ECIES over secp256k1 (after SEC 1, version 2, section 5.1).

    e random, R = eG, k = HKDF-SHA256(SHA-256(eY), salt = R || Y, info = DST_ecies || context)
    box = R (33 bytes) || AES-256-GCM(k, nonce = 0, plain, associated data = context)

Each key encrypts once, so its nonce may be constant.  `context` identifies the purpose and the sender of the
bytes; a box can be decrypted only under its context.  A box does not authenticate its sender: sign the
message that carries it.
"""

from __future__ import annotations

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from blockful_py.crypto import curve
from blockful_py.crypto.chameleon import tag
from blockful_py.crypto.randomness import system_rng
from blockful_py.errors import CryptoError, InvalidKeyError
from blockful_py.types import Point, Rng

DST_ECIES = tag("ecies")
OVERHEAD = 33 + 16
"""Bytes added to the plaintext: the ephemeral key and the tag."""
_NONCE = bytes(12)


def seal(recipient: Point, context: bytes, plain: bytes, rng: Rng = system_rng) -> bytes:
    """Encrypts `plain` to the holder of the secret of `recipient`.

    Raises InvalidKeyError if `recipient` is not on the curve.
    """
    return seal_under(curve.random_scalar(rng), recipient, context, plain)


def seal_under(ephemeral: int, recipient: Point, context: bytes, plain: bytes) -> bytes:
    """As `seal`, with e given, which must never seal anything else."""
    public = curve.multiply_base(ephemeral)
    cipher = _cipher(curve.shared_secret(ephemeral, recipient), public, recipient, context)
    return curve.compress(public) + cipher.encrypt(_NONCE, plain, context)


def unseal(secret: int, context: bytes, box: bytes) -> bytes:
    """Decrypts a box.  Raises CryptoError for a damaged box, or one for another recipient or context."""
    shared = curve.shared_secret(secret, ephemeral_key(box))
    return unseal_shared(shared, curve.multiply_base(secret), context, box)


def unseal_shared(shared: bytes, recipient: Point, context: bytes, box: bytes) -> bytes:
    """Decrypts a box with SHA-256(eY).  Raises as `unseal`."""
    try:
        cipher = _cipher(shared, ephemeral_key(box), recipient, context)
        return cipher.decrypt(_NONCE, box[33:], context)
    except InvalidTag:
        raise CryptoError("a sealed box is damaged, for another recipient or of another context.") from None


def ephemeral_key(box: bytes) -> Point:
    """R of a box.  Raises CryptoError if it has none."""
    if len(box) < OVERHEAD:
        raise CryptoError(f"a sealed box has {OVERHEAD} bytes or more, this has {len(box)}.")
    try:
        return curve.decompress(box[:33])
    except InvalidKeyError:
        raise CryptoError("a sealed box is damaged: it begins with no key.") from None


def _cipher(shared: bytes, public: Point, recipient: Point, context: bytes) -> AESGCM:
    salt = curve.compress(public) + curve.compress(recipient)
    return AESGCM(HKDF(SHA256(), 32, salt, DST_ECIES + context).derive(shared))
