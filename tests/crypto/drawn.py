# SPDX-License-Identifier: Apache-2.0
"""Hashes with openings drawn at random, which are valid and no first ones; anybody can make them."""

from __future__ import annotations

from blockful_py.crypto import chameleon, curve
from blockful_py.crypto.curve import N
from blockful_py.types import Opening, Point, Rng


def drawn_hash(key: Point, label: bytes, message: bytes, rng: Rng) -> tuple[int, Opening]:
    """Draws r, and z until P = zG - c^-1 Y has even y; s = cz, h = r - phi(P)."""
    r = curve.random_scalar(rng)
    c = chameleon.challenge(curve.key_id(key), label, message, r)
    shift = curve.multiply(key, N - pow(c, -1, N))
    while True:
        z = curve.random_scalar(rng)
        point = curve.sum_with_base(z, shift)
        if point is not None and point.y & 1 == 0:
            return (r - chameleon.phi(point.x)) % N, Opening(point.x, c * z % N)
