# SPDX-License-Identifier: Apache-2.0
"""The chameleon hash as in the design, in integer arithmetic: slow, for comparisons only."""

from __future__ import annotations

from blockful_py.crypto.keccak import keccak

FIELD = 2**256 - 2**32 - 977
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
BASE = (
    0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
    0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8,
)
Affine = tuple[int, int] | None


def add(a: Affine, b: Affine) -> Affine:
    """a + b; None is the point at infinity."""
    if a is None or b is None:
        return a or b
    if a[0] == b[0] and (a[1] + b[1]) % FIELD == 0:
        return None
    if a == b:
        slope = 3 * a[0] * a[0] * pow(2 * a[1], -1, FIELD)
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, FIELD)
    x = (slope * slope - a[0] - b[0]) % FIELD
    return x, (slope * (a[0] - x) - a[1]) % FIELD


def multiply(scalar: int, point: Affine) -> Affine:
    """scalar * point by double and add."""
    total: Affine = None
    while scalar:
        if scalar & 1:
            total = add(total, point)
        point = add(point, point)
        scalar >>= 1
    return total


def even_point(x: int) -> Affine:
    """The point with this x and an even y, or None."""
    square = (x * x * x + 7) % FIELD
    y = pow(square, (FIELD + 1) // 4, FIELD)
    if y * y % FIELD != square:
        return None
    return x, y if y % 2 == 0 else FIELD - y


def tag(name: str) -> bytes:
    return keccak(b"BlockFUL/CH/secp256k1-NR/v1/" + name.encode())


def scalar(data: bytes) -> int:
    return int.from_bytes(keccak(data), "big") % ORDER


def verify(key_id: bytes, label: bytes, message: bytes, h: int, px: int, s: int) -> bool:
    """sG = cP + Y, tested as H((sG - cP).x || (sG - cP).y) == keyId, which names Y."""
    if not (h < ORDER and 0 < px < ORDER and 0 < s < ORDER):
        return False
    point = even_point(px)
    if point is None:
        return False
    r = (h + scalar(tag("phi") + px.to_bytes(32, "big"))) % ORDER
    c = scalar(tag("challenge") + key_id + label + message + r.to_bytes(32, "big"))
    found = add(multiply(s, BASE), multiply(ORDER - c, point))
    if c == 0 or found is None:
        return False
    return keccak(found[0].to_bytes(32, "big") + found[1].to_bytes(32, "big")) == key_id
