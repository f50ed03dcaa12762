# SPDX-License-Identifier: Apache-2.0
"""Schnorr signatures of many signers under the sum of their keys, checked by one ecrecover (Schnorr.sol).

A signature (nonce, s) of the key X over a digest is valid if nonce = address(sG - eX), with e =
H(DST_challenge || X.x || X.y || nonce || digest) mod n.  Signing takes two rounds (SpeedyMuSig: Crites, Komlo
and Maller 2021; nonces as in MuSig2, Nick, Ruffing and Seurin 2021):

    1. each signer sends (D_i, E_i) = (d_i G, e_i G)
    2. with D, E, X the sums over the signers, rho = H(DST_binding || X || D || E || digest), R = D + rho E
       and nonce = address(R), each answers s_i = d_i + rho e_i + e x_i; s is the sum

Summing keys is safe only if every key has a proof of possession, a signature under that key alone; otherwise
a signer could choose a key that cancels the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from blockful_py.crypto import curve
from blockful_py.crypto.curve import N
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.randomness import system_rng
from blockful_py.crypto.threshold.nonces import commitment, draw
from blockful_py.crypto.threshold.response import Responder
from blockful_py.errors import CheaterError, CryptoError, InvalidKeyError
from blockful_py.types import Address, Bytes32, Point, Rng

DST_CHALLENGE = keccak(b"BlockFUL/certificate/v1/challenge")
DST_BINDING = keccak(b"BlockFUL/certificate/v1/binding")

NoncePoints = tuple[Point, Point]
"""The nonce points (D_i, E_i) of one signer."""


@dataclass(frozen=True, slots=True)
class SchnorrSignature:
    """A signature: address(R), 20 bytes, and s in [1, n)."""

    nonce: Address
    s: int


@dataclass(frozen=True, slots=True)
class SigningRound:
    """Values of round 2 that all signers compute alike.

    Attributes:
        rho: coefficient of E.
        nonce: address(D + rho E).
        challenge: e.
    """

    rho: int
    nonce: bytes
    challenge: int


def challenge(key: Point, nonce: bytes, digest: Bytes32) -> int:
    """Challenge e of a signature under `key` with `nonce` (20 bytes) over `digest` (32 bytes)."""
    words = (DST_CHALLENGE, curve.encode(key), bytes(12), nonce, digest)
    return int.from_bytes(keccak(b"".join(words)), "big") % N


def verify(key: Point, digest: Bytes32, signature: SchnorrSignature) -> bool:
    """Whether `key` signed `digest` (32 bytes); malformed signatures give False."""
    if not 0 < signature.s < N or len(signature.nonce) != 20 or len(digest) != 32:
        return False
    e = challenge(key, signature.nonce, digest)
    try:
        # sG - eX
        nonce = curve.sum_with_base(signature.s, curve.multiply(curve.negate(key), e))
    except InvalidKeyError:
        return False
    return nonce is not None and curve.address(nonce) == signature.nonce


def sign(secret: int, digest: Bytes32, rng: Rng = system_rng) -> SchnorrSignature:
    """Signs `digest` (32 bytes) with one key, as a proof of its possession."""
    key = curve.multiply_base(secret)
    while True:
        (pair,) = draw(secret, digest, 1, rng)
        begun = begin(key, digest, [commitment(pair)])
        if begun is not None:
            return SchnorrSignature(begun.nonce, respond(secret, pair, begun))


def total(keys: Iterable[Point]) -> Point:
    """The joint key of a group of signers.  Raises InvalidKeyError if the keys cancel each other."""
    return curve.total(keys)


def begin(key: Point, digest: Bytes32, nonces: Sequence[NoncePoints]) -> SigningRound | None:
    """Starts round 2 of the signers whose keys sum up to `key`; None if their nonces give no signature.

    Raises InvalidKeyError if a nonce is not on the curve.
    """
    d, e = (_sum([pair[which] for pair in nonces]) for which in (0, 1))
    if d is None or e is None:
        return None
    points = b"".join(map(curve.encode, (key, d, e)))
    rho = int.from_bytes(keccak(DST_BINDING + points + digest), "big") % N
    try:
        nonce = curve.address(curve.add(d, curve.multiply(e, rho)))
    except InvalidKeyError:
        return None
    return SigningRound(rho, nonce, challenge(key, nonce, digest))


def respond(secret: int, pair: tuple[int, int], begun: SigningRound) -> int:
    """Response s_i of the signer with `secret` and the nonces (d_i, e_i), which must never be used again."""
    return Responder(secret, 1).answer(pair, begun.rho, False, begun.challenge)


def responded(key: Point, nonces: NoncePoints, begun: SigningRound, response: int) -> bool:
    """Whether `response` belongs to the signer with `key`: s_i G = D_i + rho E_i + e X_i."""
    try:
        nonce = curve.add(nonces[0], curve.multiply(nonces[1], begun.rho))
        expected = curve.add(nonce, curve.multiply(key, begun.challenge))
        return curve.multiply_base(response) == expected
    except InvalidKeyError:
        return False


def combine(
    keys: Sequence[Point], digest: Bytes32, nonces: Sequence[NoncePoints], responses: Sequence[int]
) -> SchnorrSignature:
    """Combines the signers' responses to one signature; the lists have the same order of signers.

    Responses are checked one by one only if the signature is invalid.  Raises CheaterError with the positions
    (from 1) of wrong responses, CryptoError if the nonces give no signature.
    """
    key = total(keys)
    begun = begin(key, digest, nonces)
    if begun is None:
        raise CryptoError("these nonces give no signature; take others.")
    signature = SchnorrSignature(begun.nonce, sum(responses) % N)
    if not verify(key, digest, signature):
        parts = zip(keys, nonces, responses, strict=True)
        wrong = [
            place
            for place, part in enumerate(parts, start=1)
            if not responded(part[0], part[1], begun, part[2])
        ]
        if wrong:
            raise CheaterError(wrong, "the share of a certificate")
        raise CryptoError("all shares check out but the signature does not hold.")
    return signature


def _sum(points: Sequence[Point]) -> Point | None:
    """The sum; None at infinity.  Raises InvalidKeyError if a point is not on the curve."""
    try:
        return curve.total(points)
    except InvalidKeyError:
        if all(map(curve.on_curve, points)):
            return None
        raise
