# SPDX-License-Identifier: Apache-2.0
"""Boxes whose recipient can prove their content to everybody, and which open no other box.

    box     R's signature over (Y, context, inner) || inner     inner = ECIES to Y = yG under R = eG
    proof   D = yR, c = H(DST || Y || R || D || kG || kR || context, box), s = k - cy
    valid   c = H(DST || Y || R || D || sG + cY || sR + cD || context, box), so log_G Y = log_R D

Whoever sees D can open every box to Y under R.  So a recipient proves nothing about a box that R has not
signed: nobody but the sender knew e, so all boxes under R are the sender's own, and it could have shown them
itself.  A sender that puts another's R into its box, to learn what that one holds, has no signature by it.
(Chaum and Pedersen, "Wallet Databases with Observers", 1992; signed ciphertexts as in Shoup and Gennaro,
"Securing Threshold Cryptosystems against Chosen Ciphertext Attack", 1998.)
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from blockful_py.crypto import curve, ecies, multisignature
from blockful_py.crypto.chameleon import tag
from blockful_py.crypto.curve import N
from blockful_py.crypto.keccak import keccak, words
from blockful_py.crypto.multisignature import SchnorrSignature
from blockful_py.crypto.randomness import system_rng
from blockful_py.errors import CryptoError, InvalidKeyError
from blockful_py.types import Bytes32, Point, Rng

DST_SIGNED = tag("provable-box")
DST_PROOF = tag("box-proof")
NONCE_PURPOSE = b"BlockFUL/box/v1\0"
_SIGNATURE = 20 + 32


@dataclass(frozen=True, slots=True)
class BoxProof:
    """D = yR, with a proof (challenge c, response s) that Y = yG for the same y."""

    point: Point
    c: int
    s: int


def seal(recipient: Point, context: bytes, plain: bytes, rng: Rng = system_rng) -> bytes:
    """Encrypts `plain` to the holder of the secret of `recipient`.  Raises as `ecies.seal`."""
    ephemeral = curve.random_scalar(rng)
    inner = ecies.seal_under(ephemeral, recipient, context, plain)
    signed = multisignature.sign(ephemeral, _digest(recipient, context, inner), rng)
    return signed.nonce + signed.s.to_bytes(32, "big") + inner


def is_signed(recipient: Point, context: bytes, box: bytes) -> bool:
    """Whether the sender of a box knew e, and made it for this recipient and context: anybody can see it."""
    inner = box[_SIGNATURE:]
    signed = SchnorrSignature(box[:20], int.from_bytes(box[20:_SIGNATURE], "big"))
    try:
        key = ecies.ephemeral_key(inner)
    except CryptoError:
        return False
    return multisignature.verify(key, _digest(recipient, context, inner), signed)


def unseal(secret: int, context: bytes, box: bytes) -> bytes:
    """Decrypts a box.  Raises CryptoError for a damaged box, or one for another recipient or context."""
    _require_signed(curve.multiply_base(secret), context, box)
    return ecies.unseal(secret, context, box[_SIGNATURE:])


def prove(secret: int, context: bytes, box: bytes) -> BoxProof:
    """Lets everybody open this box, whether or not it can be decrypted.

    Raises CryptoError for a box that its sender has not signed, which proves enough by itself.
    """
    recipient = curve.multiply_base(secret)
    _require_signed(recipient, context, box)
    public = ecies.ephemeral_key(box[_SIGNATURE:])
    point = curve.multiply_secret(public, secret)
    about = _about(context, box)
    k = curve.nonce(secret, about, NONCE_PURPOSE, system_rng(32))
    u, v = curve.multiply_base(k), curve.multiply_secret(public, k)
    c = _challenge(recipient, public, point, (u, v), about)
    return BoxProof(point, c, curve.multiply_add(secret, N - c, k))


def is_proof(recipient: Point, context: bytes, box: bytes, proof: BoxProof) -> bool:
    """Whether a proof is the recipient's, of this box."""
    if not (is_signed(recipient, context, box) and 0 < proof.c < N and 0 < proof.s < N):
        return False
    public = ecies.ephemeral_key(box[_SIGNATURE:])
    try:
        # sG + cY, sR + cD
        u = curve.sum_with_base(proof.s, curve.multiply(recipient, proof.c))
        v = curve.add(curve.multiply(public, proof.s), curve.multiply(proof.point, proof.c))
    except InvalidKeyError:
        return False
    about = _about(context, box)
    return u is not None and proof.c == _challenge(recipient, public, proof.point, (u, v), about)


def unseal_proven(recipient: Point, context: bytes, box: bytes, proof: BoxProof) -> bytes:
    """Decrypts another's box by its valid proof.  Raises CryptoError for a box that it cannot decrypt."""
    shared = hashlib.sha256(curve.compress(proof.point)).digest()
    return ecies.unseal_shared(shared, recipient, context, box[_SIGNATURE:])


def _require_signed(recipient: Point, context: bytes, box: bytes) -> None:
    if not is_signed(recipient, context, box):
        raise CryptoError("a sealed box is damaged, or was made for another recipient or context.")


def _digest(recipient: Point, context: bytes, inner: bytes) -> Bytes32:
    return keccak(words(DST_SIGNED, keccak(context), keccak(inner)) + curve.encode(recipient))


def _about(context: bytes, box: bytes) -> Bytes32:
    return keccak(words(keccak(context), keccak(box)))


def _challenge(
    recipient: Point, public: Point, point: Point, products: tuple[Point, Point], about: Bytes32
) -> int:
    points = b"".join(map(curve.encode, (recipient, public, point, *products)))
    return int.from_bytes(keccak(words(DST_PROOF) + points + about), "big") % N
