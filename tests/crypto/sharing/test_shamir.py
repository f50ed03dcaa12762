# SPDX-License-Identifier: Apache-2.0
"""Shares open to the secret, show nothing below their threshold, and tell wrong ones apart."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.sharing.residues import PRIMES, Array, Residues
from blockful_py.crypto.sharing.shamir import evaluate, interpolate, opened, polynomial
from blockful_py.errors import CryptoError

FIELD = Residues(2)


def shares_of(secret: Array, degree: int, size: int, seed: int = 0) -> dict[int, Array]:
    coefficients = polynomial(FIELD, secret, degree, SeededRng(seed.to_bytes(4, "big")))
    return {member: evaluate(FIELD, coefficients, member) for member in range(1, size + 1)}


@given(st.integers(0, 6), st.integers(0, 2**32 - 1), st.lists(st.integers(0, 2**61), min_size=1, max_size=5))
def test_any_shares_above_the_degree_open(degree: int, seed: int, numbers: list[int]) -> None:
    secret = FIELD.of(np.array(numbers, object))
    shares = shares_of(secret, degree, 7, seed)
    for some in combinations(shares, degree + 1):
        assert np.array_equal(interpolate(FIELD, {each: shares[each] for each in some}), secret)


@given(st.lists(st.integers(0, 2**61), min_size=2, max_size=2), st.integers(0, 2**32 - 1))
def test_fewer_shares_are_those_of_any_secret(numbers: list[int], seed: int) -> None:
    """For t - 1 shares and every other secret there is one polynomial: the shares do not depend on it."""
    secret, other = (FIELD.of(np.array([each], object)) for each in numbers)
    shares = shares_of(secret, 2, 2, seed)
    lie = {0: other, **shares}
    third = interpolate(FIELD, lie, 3)
    assert np.array_equal(interpolate(FIELD, {**shares, 3: third}), other)


def test_shares_are_uniform() -> None:
    share = shares_of(FIELD.of(np.zeros(20_000, np.int64)), 1, 1)[1][0] / PRIMES[0]
    counts = np.histogram(share, 20, (0, 1))[0]
    assert ((counts - 1000) ** 2 / 1000).sum() < 50  # chi squared of 19 degrees: above it once in 7,000 draws


@pytest.mark.parametrize(("size", "threshold", "degree", "named"), [(4, 2, 1, 1), (7, 3, 2, 2), (5, 2, 2, 1)])
def test_wrong_shares_are_named(size: int, threshold: int, degree: int, named: int) -> None:
    secret = FIELD.of(np.arange(6).reshape(2, 3))
    shares = shares_of(secret, degree, size)
    for liars in combinations(shares, named):
        lying = {j: (FIELD.reduced(each + (j in liars) * (j + 1))) for j, each in shares.items()}
        value, found = opened(FIELD, lying, degree, threshold - 1)
        assert found == liars and np.array_equal(value, secret)


def test_wrong_shares_of_products_are_found_if_not_named() -> None:
    shares = shares_of(FIELD.of(np.arange(3)), 2, 4)
    for liar in shares:
        changed = shares[liar].copy()
        changed[1, 2] ^= 1
        with pytest.raises(CryptoError, match="some are wrong, and which cannot be told"):
            opened(FIELD, {**shares, liar: changed}, 2, 1)


def test_liars_that_agree_do_not_have_an_honest_member_named() -> None:
    """Two liars of 7 move their shares to another polynomial of degree 4, as near as one honest share."""
    shares = shares_of(FIELD.of(np.arange(3)), 4, 7)
    # difference polynomial with zeros at 1 to 4
    zero = {0: FIELD.of(np.ones(3, np.int64))} | {j: np.zeros_like(shares[1]) for j in (1, 2, 3, 4)}
    lying = {
        j: FIELD.reduced(shares[j] + interpolate(FIELD, zero, j)) if j in (5, 6) else shares[j]
        for j in shares
    }
    with pytest.raises(CryptoError, match="cannot be told"):
        opened(FIELD, lying, 4, 2)


def test_too_few_shares_are_refused() -> None:
    shares = shares_of(FIELD.of(np.arange(3)), 2, 3)
    with pytest.raises(CryptoError, match="show 0 wrong ones, not 1: ask 4 members"):
        opened(FIELD, shares, 2, 1)
