# SPDX-License-Identifier: Apache-2.0
"""Shamir's shares of residues: polynomials, one for each number and prime, whose value at 0 is the secret.

Member j of n holds the values at j.  The shares of at most `degree` members are uniform for any secret.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from blockful_py.crypto.sharing.residues import PRIMES, Array, Residues
from blockful_py.errors import CryptoError
from blockful_py.types import Rng


def polynomial(field: Residues, secret: Array, degree: int, rng: Rng) -> Array:
    """Random polynomials with these values at 0, coefficients (degree + 1, k, ...)."""
    drawn = [field.random(secret.shape[1:], rng) for _ in range(degree)]
    return np.stack([secret, *drawn])


def evaluate(field: Residues, coefficients: Array, at: int) -> Array:
    """Values (k, ...) of polynomials (degree + 1, k, ...) at a small whole number, by Horner's rule."""
    value: Array = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        value = field.reduced(value * at + coefficient)
    return value


def lagrange(members: Sequence[int], at: int = 0) -> Array:
    """Factors by member, int64 (members, MOST primes), that add the shares up to the value at `at`."""
    rows = []
    for i in members:
        top, bottom = 1, 1
        for j in members:
            if j != i:
                top, bottom = top * (at - j), bottom * (i - j)
        rows.append([top * pow(bottom, -1, p) % p for p in PRIMES])
    return np.array(rows, np.int64)


def interpolate(field: Residues, shares: Mapping[int, Array], at: int = 0) -> Array:
    """The value at `at`, of the polynomials of degree below the number of shares."""
    factors = lagrange([*shares], at)[:, : field.count]
    total = np.zeros_like(next(iter(shares.values())))
    for factor, share in zip(factors, shares.values(), strict=True):
        total = field.reduced(total + share * factor.reshape(-1, *([1] * (share.ndim - 1))))
    return total


def opened(
    field: Residues, shares: Mapping[int, Array], degree: int, liars: int
) -> tuple[Array, tuple[int, ...]]:
    """The secrets, and the members whose shares are wrong, as far as they can be told.

    n shares of polynomials of degree d show `s = n - d - 1` wrong ones.  If at most `liars` are wrong, up to
    s - liars of them are named: no other polynomial is as near.

    Raises CryptoError: shares are wrong that cannot be named, or too few are there to show all liars.
    """
    members = sorted(shares)
    spare = len(members) - degree - 1
    if spare < liars:
        raise CryptoError(
            f"{len(members)} shares of polynomials of degree {degree} show {max(spare, 0)} wrong ones, not "
            f"{liars}: ask {degree + 1 + liars} members."
        )
    for wrong in range(min(liars, spare - liars) + 1):
        for left_out in combinations(members, wrong):
            rest = {each: shares[each] for each in members if each not in left_out}
            if _on_polynomial(field, rest, degree):
                few = {each: rest[each] for each in [*rest][: degree + 1]}
                return interpolate(field, few), left_out
    raise CryptoError(
        f"of {len(members)} shares of polynomials of degree {degree} some are wrong, and which cannot be "
        "told: repeat it with other members."
    )


def _on_polynomial(field: Residues, shares: Mapping[int, Array], degree: int) -> bool:
    members = [*shares]
    few = {each: shares[each] for each in members[: degree + 1]}
    return all(np.array_equal(interpolate(field, few, each), shares[each]) for each in members[degree + 1 :])
