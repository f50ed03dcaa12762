# SPDX-License-Identifier: Apache-2.0
"""Residues compute as Python's whole numbers do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.sharing.residues import MOST, PRIMES, Residues, primes_above, scale

FIELD = Residues(5)
HALF = FIELD.modulus // 2
NUMBERS = st.lists(st.integers(-HALF, HALF), min_size=1, max_size=20)


def whole(numbers: list[int]) -> np.ndarray:
    return np.array(numbers, object)


def test_the_primes_are_the_largest_below_2_to_the_31() -> None:
    assert PRIMES[:4] == (2147483647, 2147483629, 2147483587, 2147483579)
    small = [p for p in range(2, 46_341) if all(p % q for q in range(2, int(p**0.5) + 1))]
    composite = [n for n in range(PRIMES[-1], 2**31) if any(n % q == 0 for q in small)]
    assert len(PRIMES) == MOST and {*range(PRIMES[-1], 2**31)} - {*composite} == {*PRIMES}


@given(NUMBERS)
def test_residues_determine_numbers(numbers: list[int]) -> None:
    assert FIELD.centred(FIELD.of(whole(numbers))).tolist() == numbers


@given(NUMBERS, st.integers(-(2**200), 2**200))
def test_sums_and_multiples(numbers: list[int], by: int) -> None:
    residues = FIELD.of(whole(numbers))
    expected = [(each * by + each) % FIELD.modulus for each in numbers]
    found = FIELD.reduced(FIELD.scaled(residues, by) + residues)
    assert [int(each) % FIELD.modulus for each in FIELD.centred(found)] == expected


@given(st.lists(st.integers(0, FIELD.modulus - 1), min_size=1, max_size=20), st.integers(0, 4))
def test_floors(numbers: list[int], primes: int) -> None:
    found = FIELD.centred(FIELD.floor(FIELD.of(whole(numbers)), primes))
    assert [int(each) % FIELD.modulus for each in found] == [each // scale(primes) for each in numbers]


def test_matrix_products_of_the_largest_residues() -> None:
    largest = np.broadcast_to(FIELD.primes(3) - 1, (5, 3, 2048)).copy()  # -1
    assert (FIELD.matmul(largest, largest.transpose(0, 2, 1)) == 2048).all()
    with pytest.raises(ValueError, match="at most 2048 columns, not 2049"):
        FIELD.matmul(np.zeros((5, 1, 2049), np.int64), np.zeros((5, 2049, 1), np.int64))


@given(st.integers(1, 4), st.integers(0, 30), st.integers(0, 10))
def test_random_numbers_are_below_their_bound(primes: int, bits: int, seed: int) -> None:
    rng = SeededRng(bytes([seed]))
    found = FIELD.centred(FIELD.random_below((200,), primes, bits, rng))
    limit = scale(primes) << bits
    assert all(0 <= each < limit for each in found)
    assert max(found) > limit // 2 and min(found) < limit // 2


def test_the_number_of_primes() -> None:
    assert [primes_above(bits) for bits in (0, 30, 31, 61, 62)] == [1, 1, 2, 2, 3]
    with pytest.raises(ValueError, match="1 to 64 primes, not 65"):
        Residues(65)
