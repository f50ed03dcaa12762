# SPDX-License-Identifier: Apache-2.0
"""Schnorr signatures of many signers under the sum of their keys, which one ecrecover checks (Schnorr.sol).

A signature (nonce, s) of the key X over a digest holds when nonce = address(sG - eX), with
e = H(DST_challenge || X.x || X.y || nonce || digest) mod n.  Signers make one in two rounds (SpeedyMuSig:
Crites, Komlo and Maller 2021; the nonces as in MuSig2, Nick, Ruffing and Seurin 2021):

    1. each gives (D_i, E_i) = (d_i G, e_i G)
    2. with D, E, X the sums over the signers, rho = H(DST_binding || X || D || E || digest), R = D + rho E
       and nonce = address(R), each answers s_i = d_i + rho e_i + e x_i; s is the sum

The sum of keys is safe where every key came with a proof of possession, a signature under that key alone:
otherwise somebody could choose a key that cancels the others'.
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
from blockful_py.types import Address, Point, Rng

DST_CHALLENGE = keccak(b"BlockFUL/certificate/v1/challenge")
DST_BINDING = keccak(b"BlockFUL/certificate/v1/binding")

NoncePoints = tuple[Point, Point]
"""(D_i, E_i) of one signer."""


@dataclass(frozen=True, slots=True)
class SchnorrSignature:
    """address(R), 20 bytes, and s in [1, n)."""

    nonce: Address
    s: int


@dataclass(frozen=True, slots=True)
class SigningRound:
    """What all signers of round 2 compute alike.

    Attributes:
        rho: coefficient of E.
        nonce: address(D + rho E).
        challenge: e.
    """

    rho: int
    nonce: bytes
    challenge: int


def challenge(key: Point, nonce: bytes, digest: bytes) -> int:
    """e of a signature under `key` with `nonce` (20 bytes) over `digest` (32 bytes)."""
    words = (DST_CHALLENGE, curve.encode(key), bytes(12), nonce, digest)
    return int.from_bytes(keccak(b"".join(words)), "big") % N


def verify(key: Point, digest: bytes, signature: SchnorrSignature) -> bool:
    """Whether the signature is that of `key` over `digest` (32 bytes); False for malformed ones too."""
    if not 0 < signature.s < N or len(signature.nonce) != 20 or len(digest) != 32:
        return False
    e = challenge(key, signature.nonce, digest)
    try:
        # sG - eX
        nonce = curve.sum_with_base(signature.s, curve.multiply(curve.negate(key), e))
    except InvalidKeyError:
        return False
    return nonce is not None and curve.address(nonce) == signature.nonce


def sign(secret: int, digest: bytes, rng: Rng = system_rng) -> SchnorrSignature:
    """The signature of one signer over `digest` (32 bytes): a proof of possession of its key."""
    key = curve.multiply_base(secret)
    while True:
        (pair,) = draw(secret, digest, 1, rng)
        begun = begin(key, digest, [commitment(pair)])
        if begun is not None:
            return SchnorrSignature(begun.nonce, respond(secret, pair, begun))


def total(keys: Iterable[Point]) -> Point:
    """The key of a group of signers.  Raises InvalidKeyError where the keys cancel each other."""
    return curve.total(keys)


def begin(key: Point, digest: bytes, nonces: Sequence[NoncePoints]) -> SigningRound | None:
    """Round 2 for the signers whose keys sum up to `key`, with their nonces; None where those give no
    signature.

    Raises InvalidKeyError when a nonce is not on the curve.
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
    """s_i of the signer with `secret` and the nonces (d_i, e_i); they must never be used again."""
    return Responder(secret, 1).answer(pair, begun.rho, False, begun.challenge)


def responded(key: Point, nonces: NoncePoints, begun: SigningRound, response: int) -> bool:
    """Whether `response` is that of the signer with `key`: s_i G = D_i + rho E_i + e X_i."""
    try:
        nonce = curve.add(nonces[0], curve.multiply(nonces[1], begun.rho))
        expected = curve.add(nonce, curve.multiply(key, begun.challenge))
        return curve.multiply_base(response) == expected
    except InvalidKeyError:
        return False


def combine(
    keys: Sequence[Point], digest: bytes, nonces: Sequence[NoncePoints], responses: Sequence[int]
) -> SchnorrSignature:
    """The signature of all signers, by place in the four lists' order.

    Responses are checked one by one only where the signature does not hold.  Raises CheaterError with the
    places (from 1) of those whose response is wrong, CryptoError where the nonces give no signature.
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
    """The sum; None at infinity.  Raises InvalidKeyError when a point is not on the curve."""
    try:
        return curve.total(points)
    except InvalidKeyError:
        if all(map(curve.on_curve, points)):
            return None
        raise
