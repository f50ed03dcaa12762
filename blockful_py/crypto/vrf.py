# SPDX-License-Identifier: Apache-2.0
"""A verifiable random function on secp256k1, as verified by Chainlink's VRF.sol (@chainlink/contracts 0.8.0).

For a key Y = xG and an input alpha (uint256), with keccak256 H and 32-byte words:

    hash       Hp = point with even y at the first x among H(1 || Y || alpha), H(x), H(H(x)), ... that has one
    proof      gamma = x Hp;  nonce k;  c = H(2 || Hp || Y || gamma || kHp || address(kG));  s = k - cx mod n
    valid      c = H(2 || Hp || Y || gamma || c gamma + s Hp || address(cY + sG)), c not reduced, 0 < s < n
    output     H(3 || gamma)

It is not RFC 9381, which has no suite for secp256k1.  Rules and caveats: docs/reference/vrf.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from blockful_py.crypto import curve
from blockful_py.crypto.curve import N, P
from blockful_py.crypto.keccak import keccak, words
from blockful_py.errors import CryptoError, InvalidKeyError
from blockful_py.types import Point, Rng

HASH_TO_CURVE, CHALLENGE, OUTPUT = 1, 2, 3
NONCE_PURPOSE = b"BlockFUL/VRF/v1\0"

ChainPoint = tuple[int, int]
ChainProof = tuple[ChainPoint, ChainPoint, int, int, int, bytes, ChainPoint, ChainPoint, int]
"""VRF.sol's `VRF.Proof`: pk, gamma, c, s, seed, uWitness (20 bytes), cGammaWitness, sHashWitness, zInv."""


@dataclass(frozen=True, slots=True)
class VrfProof:
    """gamma = xH(Y, alpha), with a proof (challenge c, response s) that Y = xG for the same x."""

    gamma: Point
    c: int
    s: int

    def for_chain(self, public_key: Point, alpha: int) -> ChainProof:
        """The tuple for VRF.sol: the proof with the products that the contract checks instead of computing.

        `seed`, which the library does not read, is alpha.  Raises CryptoError if the proof is not valid.
        """
        products = _products(public_key, alpha, self)
        if products is None:
            raise CryptoError("the VRF proof does not hold for this key and input: make it again.")
        u, c_gamma, s_hash = products
        # projectiveECAdd returns z = (x2 - x1)^5.
        z = pow(s_hash.x - c_gamma.x, 5, P)
        return (
            _pair(public_key),
            _pair(self.gamma),
            self.c,
            self.s,
            alpha,
            curve.address(u),
            _pair(c_gamma),
            _pair(s_hash),
            pow(z, -1, P),
        )


def prove(secret: int, alpha: int, rng: Rng | None = None) -> VrfProof:
    """Proves the output of `secret` for alpha in [0, 2^256).

    Without `rng` the nonce, and so the proof, depends only on secret and alpha (RFC 6979).  With it, 32 fresh
    bytes are mixed in, which protects against faults injected into one of two equal runs.
    Raises InvalidKeyError unless 0 < secret < N, OverflowError if alpha is out of range.
    """
    public_key = curve.multiply_base(secret)
    point = hash_to_curve(public_key, alpha)
    gamma = curve.multiply_secret(point, secret)
    k = curve.nonce(secret, keccak(curve.encode(point)), NONCE_PURPOSE, rng(32) if rng else bytes(32))
    u, v = curve.multiply_base(k), curve.multiply_secret(point, k)
    c = _challenge(point, public_key, gamma, v, u)
    return VrfProof(gamma, c, curve.multiply_add(secret, N - c % N, k))


def verify(public_key: Point, alpha: int, proof: VrfProof) -> bool:
    """Whether the proof is valid for this key and alpha."""
    return _products(public_key, alpha, proof) is not None


def output(proof: VrfProof) -> int:
    """The random number of a valid proof, a uint256: H(3 || gamma)."""
    return int.from_bytes(keccak(words(OUTPUT, proof.gamma.x, proof.gamma.y)), "big")


def hash_to_curve(public_key: Point, alpha: int) -> Point:
    """VRF.sol's `hashToCurve`: tries candidates for x until one is on the curve, and takes its even y.

    Raises OverflowError if alpha is not in [0, 2^256).
    """
    data = words(HASH_TO_CURVE, public_key.x, public_key.y, alpha)
    while True:
        data = keccak(data)
        if int.from_bytes(data, "big") < P:
            try:
                return curve.decompress(b"\x02" + data)
            except InvalidKeyError:
                continue


def _products(public_key: Point, alpha: int, proof: VrfProof) -> tuple[Point, Point, Point] | None:
    """Products cY + sG, c gamma and s Hp of a valid proof; None if it is not valid."""
    if not (0 <= alpha < 2**256 and 0 < proof.c < 2**256 and proof.c % N and 0 < proof.s < N):
        return None
    try:
        point = hash_to_curve(public_key, alpha)
        u = curve.sum_with_base(proof.s, curve.multiply(public_key, proof.c % N))
        c_gamma, s_hash = curve.multiply(proof.gamma, proof.c % N), curve.multiply(point, proof.s)
    except (InvalidKeyError, OverflowError):
        return None
    # The contract multiplies by ecrecover, which takes only x below n, and adds only points of distinct x.
    beyond = max(public_key.x, proof.gamma.x, point.x) >= N
    if u is None or beyond or c_gamma.x == s_hash.x:
        return None
    c = _challenge(point, public_key, proof.gamma, curve.add(c_gamma, s_hash), u)
    return (u, c_gamma, s_hash) if c == proof.c else None


def _challenge(point: Point, public_key: Point, gamma: Point, v: Point, u: Point) -> int:
    """Challenge H(2 || Hp || Y || gamma || v || address(u)), the address packed, not reduced modulo n."""
    points = b"".join(curve.encode(each) for each in (point, public_key, gamma, v))
    return int.from_bytes(keccak(words(CHALLENGE) + points + curve.address(u)), "big")


def _pair(point: Point) -> ChainPoint:
    return point.x, point.y
