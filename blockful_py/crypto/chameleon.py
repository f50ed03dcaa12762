# SPDX-License-Identifier: Apache-2.0
"""The chameleon hash (paper, eq. 4 to 6): Ateniese and de Medeiros (2004) on secp256k1, Nyberg-Rueppel form.

Construction, domain separation and security argument: docs/explanation/chameleon-hash.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from blockful_py.crypto import curve
from blockful_py.crypto.curve import N
from blockful_py.crypto.keccak import keccak, words
from blockful_py.crypto.randomness import system_rng
from blockful_py.errors import CryptoError
from blockful_py.types import Address, Bytes32, Opening, Point, Rng


def tag(name: str) -> bytes:
    """Domain separation tag, keccak256("BlockFUL/CH/secp256k1-NR/v1/" || name)."""
    return keccak(b"BlockFUL/CH/secp256k1-NR/v1/" + name.encode())


DST_CHALLENGE = tag("challenge")
DST_FIRST = tag("first")
DST_PHI = tag("phi")
DST_LABEL = tag("label")
DST_MESSAGE = tag("message")
FIRST_OPENINGS = 64
"""Number of values of s that a first opening may have; about half of them give one."""


def keygen(rng: Rng = system_rng) -> tuple[int, Point]:
    """Generates a trapdoor x and its key Y = xG."""
    secret = curve.random_scalar(rng)
    return secret, curve.multiply_base(secret)


def label(chain_id: int, contract: Address, position: int) -> bytes:
    """Label of a position, L = H(DST_label || chainid || contract || position); `position` is packed.

    Raises ValueError unless `contract` has 20 bytes.
    """
    if len(contract) != 20:
        raise ValueError(f"a contract has an address of 20 bytes, not of {len(contract)}")
    return keccak(words(DST_LABEL, chain_id, contract, position))


def message(version: int, payload: bytes) -> bytes:
    """Message digest m = H(DST_message || version || payload).

    Raises ValueError unless `payload` has 32 bytes.
    """
    if len(payload) != 32:
        raise ValueError(f"a payload is a digest of 32 bytes, not of {len(payload)}")
    return keccak(words(DST_MESSAGE, version, payload))


def phi(px: int) -> int:
    """phi(P) = H(DST_phi || P.x) mod n, for P.x = `px`."""
    return int.from_bytes(keccak(DST_PHI + px.to_bytes(32, "big")), "big") % N


def challenge(key_id: Bytes32, label: bytes, message: bytes, r: int) -> int:
    """Challenge c = H(DST_challenge || keyId || L || m || r) mod n.

    Raises ValueError unless keyId, L and m have 32 bytes each; fixed lengths make the encoding unambiguous.
    """
    lengths = len(key_id), len(label), len(message)
    if lengths != (32, 32, 32):
        raise ValueError(f"key id, label and message are digests of 32 bytes each, not of {lengths}")
    data = b"".join((DST_CHALLENGE, key_id, label, message, r.to_bytes(32, "big")))
    return int.from_bytes(keccak(data), "big") % N


def hash_message(public_key: Point, label: bytes, message: bytes) -> tuple[int, Opening]:
    """Computes the chameleon hash h of `message` at `label`, with its first opening; needs no trapdoor.

    Raises InvalidKeyError if the key is not a point of the curve; CryptoError when no value of s fits, with a
    probability of 2^-64.
    """
    for found in _first_openings(public_key, label, message):
        return found
    raise CryptoError("this message has no chameleon hash at its label: change its content, or its time.")


@lru_cache(maxsize=1 << 14)
def first_opening(public_key: Point, label: bytes, message: bytes, h: int) -> Opening | None:
    """The first opening of h to `message` at `label`; None if h is no hash of it.

    Remembers the newest 16,384 answers: a verification needs each twice.  Raises InvalidKeyError if the key
    is not a point of the curve.
    """
    found = _first_openings(public_key, label, message)
    return next((opening for each, opening in found if each == h), None)


def _first_openings(public_key: Point, label: bytes, message: bytes) -> Iterator[tuple[int, Opening]]:
    """Hashes of `message` at `label`, each with its first opening."""
    key_id = curve.key_id(public_key)
    seed = keccak(DST_FIRST + key_id + label + message)
    r = int.from_bytes(seed, "big") % N
    c = challenge(key_id, label, message, r)
    if c == 0:
        return
    # P = c^-1 (sG - Y);  h = r - phi(P)
    inverse = pow(c, -1, N)
    shift = curve.multiply(public_key, N - inverse)
    start = int.from_bytes(keccak(DST_FIRST + seed), "big") & -FIRST_OPENINGS
    for s in range(start, start + FIRST_OPENINGS):
        if not 0 < s < N:
            continue
        point = curve.sum_with_base(inverse * s % N, shift)
        if point is not None and point.y & 1 == 0 and point.x < N:
            yield (r - phi(point.x)) % N, Opening(point.x, s)


def verify(public_key: Point, label: bytes, message: bytes, h: int, opening: Opening) -> bool:
    """Whether `opening` opens h to `message` at `label` under `public_key`.

    Numbers out of range and keys off the curve give False; only digests of the wrong length raise
    (ValueError).
    """
    px, s = opening.px, opening.s
    in_field = 0 <= public_key.x < curve.P and 0 <= public_key.y < curve.P
    if not (in_field and 0 <= h < N and 0 < px < N and 0 < s < N):
        return False
    # r = h + phi(P);  sG - cP = px^-1 ((-c px) P - (-s px) G) = Y
    c = challenge(curve.key_id(public_key), label, message, (h + phi(px)) % N)
    return curve.recover(px, N - c * px % N, N - s * px % N) == public_key


def collide(secret: int, label: bytes, message: bytes, h: int, rng: Rng = system_rng) -> Opening:
    """Computes an opening of h to `message` at `label` from the trapdoor.

    Raises InvalidKeyError for a secret out of range, CryptoError for a hash out of range.
    """
    public_key = curve.multiply_base(secret)
    return collide_with(secret, curve.key_id(public_key), label, message, h, rng)


def collide_with(
    secret: int, key_id: Bytes32, label: bytes, message: bytes, h: int, rng: Rng = system_rng
) -> Opening:
    """Computes an opening as `collide` does, given the identifier of the secret's key."""
    if not 0 <= h < N:
        raise CryptoError("a chameleon hash is a number below the order of secp256k1.")
    while True:
        k = curve.random_scalar(rng)
        point = curve.multiply_base(k)
        if point.x >= N:
            continue
        # R = kG, k negated if y is odd;  r' = h + phi(R);  s' = c'k + x
        c = challenge(key_id, label, message, (h + phi(point.x)) % N)
        if c != 0:
            return Opening(point.x, curve.multiply_add(k, N - c if point.y & 1 else c, secret))
