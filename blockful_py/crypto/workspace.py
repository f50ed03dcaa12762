# SPDX-License-Identifier: Apache-2.0
"""Sums and multiples of public points, in buffers allocated once per batch.

Allocating the buffers costs about as much as an addition in them.  A workspace keeps no secrets and runs in
variable time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from blockful_py.crypto.library import GLOBAL_CONTEXT, ffi, lib
from blockful_py.errors import InvalidKeyError
from blockful_py.types import Point

_CONTEXT = GLOBAL_CONTEXT.ctx
_COMPRESSED = lib.SECP256K1_EC_COMPRESSED
_UNCOMPRESSED = lib.SECP256K1_EC_UNCOMPRESSED


class Workspace:
    """Room for `size` points, at least one.  Not thread-safe: the library releases the GIL."""

    def __init__(self, size: int) -> None:
        self._points = ffi.new("secp256k1_pubkey[]", size)
        self._slots = [self._points + i for i in range(size)]
        self._pointers = ffi.new("secp256k1_pubkey *[]", self._slots)
        self._out = ffi.new("secp256k1_pubkey *")
        self._data = ffi.new("unsigned char[65]")
        self._view = ffi.buffer(self._data)
        self._length = ffi.new("size_t *")

    def total(self, points: Sequence[Point]) -> Point:
        """The sum of one or more points, at most `size`.

        Raises InvalidKeyError at infinity or if a point is not on the curve, ValueError for too many.
        """
        if len(points) > len(self._slots):
            raise ValueError(f"there is room for {len(self._slots)} points, {len(points)} were given")
        parse(self._slots, points)
        self._combine(len(points))
        return self._point()

    def add_multiple(self, a: Point, scalar: int, b: Point) -> bytes:
        """Computes A + kB, compressed (33 bytes).  Needs room for two points.

        Raises InvalidKeyError unless A and B are on the curve and 0 < k < n, and at infinity.
        """
        parse(self._slots, (a, b))
        if not lib.secp256k1_ec_pubkey_tweak_mul(_CONTEXT, self._slots[1], _scalar(scalar)):
            raise InvalidKeyError("a point can be multiplied by a scalar in [1, n) only.")
        self._combine(2)
        return self._serialize(_COMPRESSED, 33)

    def evaluate(self, coefficients: Sequence[Point], at: int) -> Point:
        """Evaluates the sum of at^k A_k by Horner's rule, fast for small `at`.  Needs room for two points.

        Raises InvalidKeyError unless the points are on the curve and 0 < at < n, and at infinity, also on the
        way.
        """
        factor = _scalar(at)
        parse((self._out,), (coefficients[-1],))
        for coefficient in reversed(coefficients[:-1]):
            parse(self._slots, (coefficient,))
            ffi.memmove(self._slots[1], self._out, ffi.sizeof("secp256k1_pubkey"))
            if not lib.secp256k1_ec_pubkey_tweak_mul(_CONTEXT, self._slots[1], factor):
                raise InvalidKeyError("a point can be multiplied by a scalar in [1, n) only.")
            self._combine(2)
        return self._point()

    def _combine(self, count: int) -> None:
        if not count or not lib.secp256k1_ec_pubkey_combine(_CONTEXT, self._out, self._pointers, count):
            raise InvalidKeyError("the sum of these points is the point at infinity.")

    def _point(self) -> Point:
        data = self._serialize(_UNCOMPRESSED, 65)
        return Point(int.from_bytes(data[1:33], "big"), int.from_bytes(data[33:], "big"))

    def _serialize(self, form: int, length: int) -> bytes:
        self._length[0] = length
        lib.secp256k1_ec_pubkey_serialize(_CONTEXT, self._data, self._length, self._out, form)
        return bytes(self._view[:length])


def parse(slots: Sequence[Any], points: Iterable[Point]) -> None:
    """Writes points into the first of `slots` (`secp256k1_pubkey *`).

    Raises InvalidKeyError if a point is not on the curve.
    """
    try:
        for slot, point in zip(slots, points, strict=False):
            data = b"\x04" + point.x.to_bytes(32, "big") + point.y.to_bytes(32, "big")
            if not lib.secp256k1_ec_pubkey_parse(_CONTEXT, slot, data, 65):
                raise InvalidKeyError(f"({point.x:#x}, {point.y:#x}) is not a point of secp256k1.")
    except OverflowError:
        raise InvalidKeyError("not a point of secp256k1: a coordinate is negative or too long.") from None


def _scalar(value: int) -> bytes:
    """Encodes a number in 32 bytes; a number without such a form becomes zero, which the library refuses."""
    try:
        return value.to_bytes(32, "big")
    except OverflowError:
        return bytes(32)
