# SPDX-License-Identifier: Apache-2.0
"""secp256k1 over libsecp256k1 (SEC 2, version 2, section 2.4.1).

`multiply_base`, `multiply_secret`, `nonce`, `sign` and the functions on scalars run in constant time inside
libsecp256k1.  `multiply`, `add` and `recover` do not, so use them only with public scalars and points.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.library import GLOBAL_CONTEXT, ffi, lib
from blockful_py.crypto.workspace import Workspace, parse
from blockful_py.errors import CryptoError, InvalidKeyError, InvalidSignatureError
from blockful_py.types import Address, Bytes32, Point, Rng

P = 2**256 - 2**32 - 977
"""Order of the coordinate field."""
N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
"""Order of the group."""
G = Point(
    0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
    0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8,
)
"""Generator of the group."""

_CONTEXT = GLOBAL_CONTEXT.ctx
_UNCOMPRESSED = lib.SECP256K1_EC_UNCOMPRESSED
_DRAWS = 128


def random_scalar(rng: Rng) -> int:
    """A uniform scalar in [1, N).  Raises CryptoError if `rng` keeps returning unusable bytes."""
    for _ in range(_DRAWS):
        scalar = int.from_bytes(rng(32), "big")
        if 0 < scalar < N:
            return scalar
    raise CryptoError(f"the source of randomness gave no scalar below the group order in {_DRAWS} draws.")


def multiply_base(scalar: int) -> Point:
    """kG, in constant time.  Raises InvalidKeyError unless 0 < k < N."""
    out = ffi.new("secp256k1_pubkey *")
    if not 0 < scalar < N or not lib.secp256k1_ec_pubkey_create(_CONTEXT, out, scalar.to_bytes(32, "big")):
        raise InvalidKeyError("a secret scalar must be in [1, n), the order of secp256k1.")
    return _point(out)


def multiply(point: Point, scalar: int) -> Point:
    """kP, in variable time.  Raises InvalidKeyError unless P is on the curve and 0 < k < N."""
    out = _parsed(point)
    if not 0 < scalar < N or not lib.secp256k1_ec_pubkey_tweak_mul(_CONTEXT, out, scalar.to_bytes(32, "big")):
        raise InvalidKeyError("a point can be multiplied by a scalar in [1, n) only.")
    return _point(out)


def multiply_secret(point: Point, scalar: int) -> Point:
    """kP, in constant time.  Raises InvalidKeyError unless P is on the curve and 0 < k < N."""
    out, key = ffi.new("unsigned char[64]"), _scalar(scalar)
    if not lib.secp256k1_ecdh(_CONTEXT, out, _parsed(point), key, _coordinates(), ffi.NULL):
        raise InvalidKeyError("a point can be multiplied by a scalar in [1, n) only.")
    data = bytes(ffi.buffer(out, 64))
    return Point(int.from_bytes(data[:32], "big"), int.from_bytes(data[32:], "big"))


def add(*points: Point) -> Point:
    """The sum.  Raises InvalidKeyError at infinity or if a point is not on the curve."""
    return total(points)


def total(points: Iterable[Point]) -> Point:
    """The sum of one or more points.  Raises as `add`."""
    listed = tuple(points)
    return Workspace(len(listed)).total(listed)


def sum_with_base(scalar: int, point: Point) -> Point | None:
    """kG + P; None at infinity.  Raises InvalidKeyError unless 0 < k < N and P is on the curve."""
    base, out = ffi.new("secp256k1_pubkey *"), ffi.new("secp256k1_pubkey *")
    if not 0 < scalar < N or not lib.secp256k1_ec_pubkey_create(_CONTEXT, base, scalar.to_bytes(32, "big")):
        raise InvalidKeyError("a scalar must be in [1, n), the order of secp256k1.")
    finite = lib.secp256k1_ec_pubkey_combine(_CONTEXT, out, [base, _parsed(point)], 2)
    return _point(out) if finite else None


def shared_secret(secret: int, point: Point) -> bytes:
    """Diffie-Hellman secret, 32 bytes: SHA-256 of the compressed point kP, in constant time; k is secret.

    Raises InvalidKeyError unless 0 < k < N and P is on the curve.
    """
    out, key = ffi.new("unsigned char[32]"), _scalar(secret)
    if not lib.secp256k1_ecdh(_CONTEXT, out, _parsed(point), key, ffi.NULL, ffi.NULL):
        raise InvalidKeyError("a secret scalar must be in [1, n), the order of secp256k1.")
    return bytes(ffi.buffer(out, 32))


def negate(point: Point) -> Point:
    """The inverse point, -P."""
    return Point(point.x, P - point.y)


def multiply_add(a: int, b: int, c: int) -> int:
    """Computes ab + c mod N for scalars in [1, N), in constant time.

    Raises CryptoError if an operand or the result is zero or out of range.
    """
    out = _scalar(a)
    if not (
        0 < b < N
        and 0 < c < N
        and lib.secp256k1_ec_seckey_tweak_mul(_CONTEXT, out, b.to_bytes(32, "big"))
        and lib.secp256k1_ec_seckey_tweak_add(_CONTEXT, out, c.to_bytes(32, "big"))
    ):
        raise CryptoError("an operation on secret scalars met zero or a number not below n; repeat.")
    return int.from_bytes(ffi.buffer(out, 32), "big")


def inverses(scalars: list[int]) -> list[int]:
    """Inverses 1/k mod N of public scalars in [1, N), with a single inversion (Montgomery's trick)."""
    products = [1]
    for scalar in scalars:
        products.append(products[-1] * scalar % N)
    inverse = pow(products[-1], -1, N)
    results = [0] * len(scalars)
    for i in reversed(range(len(scalars))):
        results[i] = inverse * products[i] % N
        inverse = inverse * scalars[i] % N
    return results


def recover(r: int, s: int, e: int) -> Point | None:
    """Computes r^-1 (sR - eG) for the point R with x = r and even y, as `ecrecover` with v = 27 does.

    e is taken modulo N.  Returns None if `ecrecover` fails.
    """
    if not (0 < r < N and 0 < s < N):
        return None
    signature = ffi.new("secp256k1_ecdsa_recoverable_signature *")
    compact = r.to_bytes(32, "big") + s.to_bytes(32, "big")
    lib.secp256k1_ecdsa_recoverable_signature_parse_compact(_CONTEXT, signature, compact, 0)
    out = ffi.new("secp256k1_pubkey *")
    if not lib.secp256k1_ecdsa_recover(_CONTEXT, out, signature, (e % N).to_bytes(32, "big")):
        return None
    return _point(out)


def on_curve(point: Point) -> bool:
    """Whether the coordinates belong to a point of secp256k1."""
    try:
        _parsed(point)
    except InvalidKeyError:
        return False
    return True


def compress(point: Point) -> bytes:
    """Compressed form, 33 bytes: 2 or 3 by the parity of y, then x (SEC 1, version 2, section 2.3.3)."""
    return (b"\x03" if point.y & 1 else b"\x02") + point.x.to_bytes(32, "big")


def decompress(data: bytes) -> Point:
    """Inverse of `compress`.  Raises InvalidKeyError if the bytes are not a point."""
    out = ffi.new("secp256k1_pubkey *")
    if len(data) != 33 or not lib.secp256k1_ec_pubkey_parse(_CONTEXT, out, data, 33):
        raise InvalidKeyError(f"{data.hex()} is not a compressed point of secp256k1.")
    return _point(out)


def encode(point: Point) -> bytes:
    """Uncompressed form, 64 bytes: x || y."""
    return point.x.to_bytes(32, "big") + point.y.to_bytes(32, "big")


def decode(data: bytes) -> Point:
    """Inverse of `encode`.  Raises InvalidKeyError if the bytes are not a point."""
    point = Point(int.from_bytes(data[:32], "big"), int.from_bytes(data[32:], "big"))
    if len(data) != 64 or not on_curve(point):
        raise InvalidKeyError(f"{data.hex()} is not a point of secp256k1.")
    return point


def key_id(point: Point) -> Bytes32:
    """Identifier of a key, H(Y.x || Y.y), 32 bytes."""
    return keccak(encode(point))


def address(point: Point) -> Address:
    """The Ethereum address of a key: the low 160 bits of its key id."""
    return key_id(point)[12:]


def nonce(secret: int, digest: Bytes32, purpose: bytes, fresh: bytes) -> int:
    """A secret scalar in [1, N) by RFC 6979 with additional data (section 3.6), HMAC-SHA-256.

    `digest` and `fresh` have 32 bytes, `purpose` 16.  Scalars for different purposes, and the nonces of
    `sign`, are independent.  Raises InvalidKeyError unless 0 < secret < N, ValueError for other lengths.
    """
    if (len(digest), len(purpose), len(fresh)) != (32, 16, 32):
        raise ValueError("a nonce is made of a digest of 32 bytes, a purpose of 16, and 32 fresh bytes")
    out, key = ffi.new("unsigned char[32]"), _scalar(secret)
    data = ffi.new("unsigned char[32]", fresh)
    for attempt in range(_DRAWS):
        lib.secp256k1_nonce_function_rfc6979(out, digest, key, purpose, data, attempt)
        scalar = int.from_bytes(ffi.buffer(out, 32), "big")
        if 0 < scalar < N:
            return scalar
    raise CryptoError(f"no scalar below the group order in {_DRAWS} attempts.")


def sign(secret: int, digest: Bytes32) -> tuple[int, int, int]:
    """ECDSA signature (r, s, y parity) of a 32-byte digest, s low, nonce by RFC 6979.

    Raises InvalidKeyError unless 0 < secret < N, ValueError unless the digest has 32 bytes.
    """
    if len(digest) != 32:
        raise ValueError(f"a digest has 32 bytes, not {len(digest)}")
    signature = ffi.new("secp256k1_ecdsa_recoverable_signature *")
    key = _scalar(secret)
    if not lib.secp256k1_ecdsa_sign_recoverable(_CONTEXT, signature, digest, key, ffi.NULL, ffi.NULL):
        raise InvalidSignatureError("libsecp256k1 found no nonce for this digest.")
    compact, parity = ffi.new("unsigned char[64]"), ffi.new("int *")
    lib.secp256k1_ecdsa_recoverable_signature_serialize_compact(_CONTEXT, compact, parity, signature)
    data = bytes(ffi.buffer(compact, 64))
    return int.from_bytes(data[:32], "big"), int.from_bytes(data[32:], "big"), int(parity[0])


@cache
def _coordinates() -> Any:
    """A hash function for `secp256k1_ecdh` that returns the point itself, x || y."""

    def both(out: Any, x: Any, y: Any, _: Any) -> int:
        ffi.memmove(out, x, 32)
        ffi.memmove(out + 32, y, 32)
        return 1

    return ffi.callback(
        "int(unsigned char *, const unsigned char *, const unsigned char *, void *)", both, error=0
    )


def _scalar(value: int) -> Any:
    if not 0 < value < N:
        raise InvalidKeyError("a secret scalar must be in [1, n), the order of secp256k1.")
    return ffi.new("unsigned char[32]", value.to_bytes(32, "big"))


def _parsed(point: Point) -> Any:
    out = ffi.new("secp256k1_pubkey *")
    parse((out,), (point,))
    return out


def _point(parsed: Any) -> Point:
    out, size = ffi.new("unsigned char[65]"), ffi.new("size_t *", 65)
    lib.secp256k1_ec_pubkey_serialize(_CONTEXT, out, size, parsed, _UNCOMPRESSED)
    data = bytes(ffi.buffer(out, 65))
    return Point(int.from_bytes(data[1:33], "big"), int.from_bytes(data[33:], "big"))
