# SPDX-License-Identifier: Apache-2.0
"""Encryption of short secrets under a symmetric key: AES-256-GCM with a random nonce.

box = nonce (12 bytes) || AES-256-GCM(key, nonce, plain, associated data = context)

A key may lock 2^32 boxes: random nonces then repeat with probability under 2^-32.
"""

from __future__ import annotations

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from blockful_py.crypto.randomness import system_rng
from blockful_py.errors import CryptoError
from blockful_py.types import Rng

KEY_BYTES = 32
OVERHEAD = 12 + 16
"""Bytes added to the plaintext: the nonce and the tag."""


def lock(key: bytes, context: bytes, plain: bytes, rng: Rng = system_rng) -> bytes:
    """Encrypts `plain` under `key` (32 bytes) and `context`."""
    nonce = rng(12)
    return nonce + AESGCM(key).encrypt(nonce, plain, context)


def unlock(key: bytes, context: bytes, box: bytes) -> bytes:
    """Decrypts a box.  Raises CryptoError for a damaged box, or one of another key or context."""
    if len(box) < OVERHEAD:
        raise CryptoError(f"a locked box has {OVERHEAD} bytes or more, this has {len(box)}.")
    try:
        return AESGCM(key).decrypt(box[:12], box[12:], context)
    except InvalidTag:
        raise CryptoError("a locked box is damaged, or of another key or context.") from None


def derive(secret: int, purpose: bytes) -> bytes:
    """Derives a key (32 bytes) for one purpose from a secret scalar: HKDF-SHA256."""
    return HKDF(SHA256(), KEY_BYTES, None, purpose).derive(secret.to_bytes(32, "big"))
