# SPDX-License-Identifier: Apache-2.0
"""Whole numbers as residues modulo primes below 2^31, side by side.

The residues of x modulo p_0, ..., p_(k-1) determine x modulo `Q = p_0 ... p_(k-1)`, and additions and
products act on each prime alone.  `D_s = p_0 ... p_(s-1)` takes the place of a power of two in a fixed point,
because dividing by it and rounding down needs no numbers above 62 bits (`Residues.floor`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockful_py.types import Rng

Array = NDArray[np.int64]
"""Residues, int64 (k, ...), from 0 to p_i - 1."""

MOST = 64
"""Most primes of a basis."""

LIMB = 11
"""Bits of a limb in matrix products: 2^11 terms of 11 and 31 bits stay below 2^53."""


def _is_prime(number: int) -> bool:
    """Miller and Rabin's test, exact below 3,215,031,751 with these bases (Jaeschke, 1993)."""
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in (2, 3, 5, 7):
        x = pow(base, odd, number)
        if x in (1, number - 1):
            continue
        if all((x := x * x % number) != number - 1 for _ in range(twos - 1)):
            return False
    return True


def _largest_primes(count: int) -> tuple[int, ...]:
    found: list[int] = []
    number = 2**31 - 1
    while len(found) < count:
        if _is_prime(number):
            found.append(number)
        number -= 2
    return tuple(found)


PRIMES = _largest_primes(MOST)
"""The largest primes below 2^31, in descending order."""


def scale(primes: int) -> int:
    """D_s, the product of the first s primes."""
    return prod(PRIMES[:primes])


def primes_above(bits: int) -> int:
    """The least s for which D_s is above 2^bits."""
    return next(s for s in range(1, MOST + 1) if scale(s) > 1 << bits)


@dataclass(frozen=True)
class Residues:
    """Arithmetic modulo the first `count` primes.  Raises ValueError for more than MOST."""

    count: int

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MOST:
            raise ValueError(f"expected 1 to {MOST} primes, not {self.count}: the numbers are too large")

    @cached_property
    def modulus(self) -> int:
        """Q."""
        return scale(self.count)

    def primes(self, dimensions: int) -> Array:
        """The primes, int64 (k, 1, ..., 1), for arrays of so many dimensions."""
        return np.array(PRIMES[: self.count], np.int64).reshape(-1, *([1] * (dimensions - 1)))

    def of(self, numbers: Any) -> Array:
        """Residues of whole numbers, which are an int or an array of ints (...), of any sign and size."""
        values = np.asarray(numbers, object if isinstance(numbers, int) else None)
        if values.dtype != object:
            values = values.astype(np.int64)
        return np.stack([np.asarray(values % p, np.int64) for p in PRIMES[: self.count]])

    def reduced(self, numbers: Array) -> Array:
        """Residues of int64 (k, ...), one number for each prime."""
        return numbers % self.primes(numbers.ndim)

    def times(self, left: Array, right: Array) -> Array:
        """Products element by element."""
        return self.reduced(left * right)

    def scaled(self, numbers: Array, by: int) -> Array:
        """Products with a public whole number."""
        return self.reduced(numbers * self.of(by).reshape(-1, *([1] * (numbers.ndim - 1))))

    def matmul(self, left: Array, right: Array) -> Array:
        """Matrix products (k, a, b) @ (k, b, c), exact in float64 for b up to 2^11.

        Raises ValueError for larger b.
        """
        if left.shape[-1] > 1 << LIMB:
            raise ValueError(
                f"expected at most {1 << LIMB} columns, not {left.shape[-1]}: use fewer features"
            )
        other = right.astype(np.float64)
        total = np.zeros((*left.shape[:-1], right.shape[-1]), np.int64)
        for shift in (2 * LIMB, LIMB, 0):
            limb = ((left >> shift) & ((1 << LIMB) - 1)).astype(np.float64)
            total = self.reduced((total << LIMB) + np.matmul(limb, other).astype(np.int64))
        return total

    def digits(self, numbers: Array) -> Array:
        """Mixed radix digits d of x from 0 to Q - 1: `x = sum of d_i D_i`, int64 (k, ...) (Garner, 1959)."""
        left = numbers.copy()
        primes = self.primes(numbers.ndim)
        for i in range(self.count - 1):
            inverse = np.array([pow(PRIMES[i], -1, p) for p in PRIMES[i + 1 : self.count]], np.int64)
            rest = (left[i + 1 :] - left[i]) % primes[i + 1 :]
            left[i + 1 :] = rest * inverse.reshape(-1, *([1] * (numbers.ndim - 1))) % primes[i + 1 :]
        return left

    def from_digits(self, digits: Array, first: int = 0) -> Array:
        """Residues of `sum of d_i p_first ... p_(i-1)` over the digits from index `first` on."""
        total = np.zeros((self.count, *digits.shape[1:]), np.int64)
        for i in reversed(range(first, len(digits))):
            total = self.reduced(total * PRIMES[i] + digits[i])
        return total

    def floor(self, numbers: Array, primes: int) -> Array:
        """Residues of floor(x / D_s) of numbers x from 0 to Q - 1."""
        return self.from_digits(self.digits(numbers), primes) if primes else numbers

    def centred(self, numbers: Array) -> NDArray[Any]:
        """The whole numbers x, -Q/2 < x < Q/2, as an array of Python's ints (...)."""
        total = np.zeros(numbers.shape[1:], object)
        for i, digit in reversed([*enumerate(self.digits(numbers))]):
            total = total * PRIMES[i] + digit.astype(object)
        return np.where(total > self.modulus // 2, total - self.modulus, total)

    def random(self, shape: Sequence[int], rng: Rng) -> Array:
        """Uniform residues (k, ...): numbers uniform from 0 to Q - 1."""
        return np.stack([_below(p, tuple(shape), rng) for p in PRIMES[: self.count]])

    def random_below(self, shape: Sequence[int], primes: int, bits: int, rng: Rng) -> Array:
        """Residues of numbers uniform from 0 to 2^bits D_s - 1, which is below Q; bits is at most 30."""
        digits = [_below(p, tuple(shape), rng) for p in PRIMES[:primes]]
        digits.append(_below(1 << bits, tuple(shape), rng))
        return self.from_digits(np.stack(digits))


def _below(limit: int, shape: tuple[int, ...], rng: Rng) -> Array:
    """Uniform numbers below `limit`, at most 2^31: draws above it are repeated."""
    size = prod(shape)
    bits = (limit - 1).bit_length()
    found = np.frombuffer(rng(4 * size), "<u4").astype(np.int64) & ((1 << bits) - 1)
    while len(wrong := np.flatnonzero(found >= limit)):
        found[wrong] = np.frombuffer(rng(4 * len(wrong)), "<u4").astype(np.int64) & ((1 << bits) - 1)
    return found.reshape(shape)


def fingerprint(*parts: bytes | Array) -> bytes:
    """SHA3-256 of byte strings and arrays, each with its length or shape."""
    digest = hashlib.sha3_256()
    for part in parts:
        if isinstance(part, bytes):
            digest.update(len(part).to_bytes(8, "big") + part)
        else:
            digest.update(repr(part.shape).encode() + np.ascontiguousarray(part, "<u4").tobytes())
    return digest.digest()
