# SPDX-License-Identifier: Apache-2.0
"""The head of a model of sums: ridge regression on 0 and 1 for each class.

A head is the solution of its equations, rounded to HEAD_BITS.  All methods of solving them lead to the
same bits, unless a number is nearer to the middle between two roundings than the method's error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockful_py.crypto.sharing.residues import PRIMES, Residues, primes_above
from blockful_py.crypto.sharing.residues import Array as Numbers
from blockful_py.errors import LearningError

Array = NDArray[np.float64]
Head = tuple[Array, int]
"""Whole numbers (F, classes) of at most HEAD_BITS bits, and the exponent s of their unit 2^-s."""

RIDGE = 1000
"""lambda, in squared features; chosen with seed 41, on digits also with 5 and 6, which results have too."""

HEAD_BITS = 12
"""Bits of a head's largest number; products with 4,097 features below 2^8 stay exact in float64."""

FACTOR_BITS = 16
"""Bits after the point of a class's factor."""

SOLVED_BITS = 80
"""Bits of the largest number of a head before it is rounded."""

NO_HEAD = "the sums of this model are of no samples, and no head follows: refuse it."


def class_factors(counts: Sequence[int]) -> list[int]:
    """Factors u_c, `n/n_c 2^FACTOR_BITS` to the nearest whole number; n is the mean of n_c above 0.

    Args:
        counts: n_c, or the same multiple of each; 0 has the factor 0.
    """
    there = [each for each in counts if each > 0]
    top, rest = sum(there) << FACTOR_BITS, len(there)
    return [(2 * top + rest * each) // (2 * rest * each) if each > 0 else 0 for each in counts]


def features_of(entries: int) -> int:
    """F, of E = F (F + 1) / 2."""
    return (math.isqrt(8 * entries + 1) - 1) // 2


def equations(field: Residues, total: Numbers, counts: Sequence[int], shift: int) -> tuple[Numbers, Numbers]:
    """M and R of the head's equations `M H = R`, times `2^(FACTOR_BITS + shift)`.

    Linear in the sums, but for lambda:

        M = sum_c u_c G_c + lambda I,   R = [u_c G_c[:, last]]_c

    Args:
        total: residues of the sums T_y by class, (k, classes, E), or a member's shares of them.
        counts: as in `class_factors`.

    Returns:
        Residues, or shares, (k, F, F) and (k, F, classes).
    """
    size = features_of(total.shape[-1])
    row, column = np.triu_indices(size)
    upper = np.zeros((field.count, total.shape[-1]), np.int64)
    right = np.zeros((field.count, size, total.shape[1]), np.int64)
    for label, factor in enumerate(class_factors(counts)):
        weighted = field.scaled(total[:, label], factor)
        upper = field.reduced(upper + weighted)
        right[:, :, label] = weighted[:, column == size - 1]
    matrix = np.zeros((field.count, size, size), np.int64)
    matrix[:, row, column] = upper
    matrix[:, column, row] = upper
    diagonal = np.arange(size)
    ridge = field.of(RIDGE << FACTOR_BITS + shift)[:, None]
    matrix[:, diagonal, diagonal] = field.reduced(matrix[:, diagonal, diagonal] + ridge)
    return matrix, right


def rounded(numbers: NDArray[Any], scale: int) -> Head:
    """The head of numbers n / scale, n an array of Python's ints (F, classes)."""
    largest = max(1, max(map(abs, numbers.flat)))
    exponent = largest.bit_length() - scale.bit_length()
    exponent += largest << max(-exponent, 0) >= scale << max(
        exponent, 0
    )  # 2^(exponent - 1) <= n / scale < 2^exponent
    places = HEAD_BITS - exponent
    top, bottom = (numbers << places, scale) if places >= 0 else (numbers, scale << -places)
    return ((2 * top + bottom) // (2 * bottom)).astype(np.float64), places


def head_of(total: NDArray[np.int64], shift: int) -> Head:
    """Minimises `sum_c n/n_c sum over samples of c of |H^T f - 255 e_c|^2 + lambda |H|^2`.

    n_c are the samples of a class and n their mean over the classes that there are, and n/n_c is rounded to
    FACTOR_BITS.  The equations are solved in float64, and the remainder, in whole numbers, is solved again
    until SOLVED_BITS are found.

    Args:
        total: T_y as words of 62 bits, int64 (words, classes, E), with the constant feature last.
        shift: e_y.

    Raises LearningError: the sums are of no samples, so that no head follows.
    """
    counts = [sum(int(word) << 62 * i for i, word in enumerate(each)) for each in total[:, :, -1].T]
    factors = class_factors(counts)
    largest = max((int(word.max()) << 62 * i for i, word in enumerate(total) if word.any()), default=0)
    bits = 1 + max(largest.bit_length() + max(factors).bit_length(), FACTOR_BITS + shift + 10)
    bits += len(factors).bit_length()  # of an entry of M
    field = Residues(primes_above(bits + SOLVED_BITS + features_of(total.shape[-1]).bit_length() + 2))
    sums = field.of(total[0])
    for i, word in enumerate(total[1:], 1):
        sums = field.reduced(sums + field.scaled(field.of(word), 1 << 62 * i))
    matrix, right = equations(field, sums, counts, shift)
    with np.errstate(all="ignore"):
        return _refined(field, matrix, right)


def _refined(field: Residues, matrix: Numbers, right: Numbers) -> Head:
    factors = factored(_floats(field, matrix))
    first = solved(factors, _floats(field, right))
    _require_finite(first)
    places = SOLVED_BITS - int(np.frexp(np.abs(first).max())[1])
    if not 0 <= places <= 2 * SOLVED_BITS:
        raise LearningError(NO_HEAD)
    found = np.zeros(first.shape, object)
    step = np.ldexp(first, places)
    for _ in range(SOLVED_BITS):
        found = found + np.array([int(each) for each in np.rint(step).flat], object).reshape(found.shape)
        rest = field.scaled(right, 1 << places) - field.matmul(matrix, field.of(found))
        step = solved(factors, field.centred(field.reduced(rest)).astype(np.float64))
        _require_finite(step)
        if np.abs(step).max() < 1:
            return rounded(found, 1 << places)
    raise LearningError(NO_HEAD)


def _require_finite(numbers: Array) -> None:
    if not np.isfinite(numbers).all():
        raise LearningError(NO_HEAD)


def _floats(field: Residues, numbers: Numbers) -> Array:
    """Whole numbers from 0 as float64, by one product and one sum a prime."""
    total = np.zeros(numbers.shape[1:])
    for i, digit in reversed([*enumerate(field.digits(numbers))]):
        total = total * PRIMES[i] + digit
    return total


def factored(matrix: Array) -> Array:
    """D and L of a symmetric positive definite M = L D L^T (F, F): D on the diagonal, `L D` below it.

    Only element-wise products, quotients and differences are computed, one rounding each: a library's sums
    and fused steps have other bits on other processors.
    """
    left = matrix.copy()
    for k in range(len(left) - 1):
        column = left[k + 1 :, k] / left[k, k]
        left[k + 1 :, k + 1 :] -= np.multiply(column[:, None], left[k, k + 1 :])
    return left


def solved(factors: Array, right: Array) -> Array:
    """Solves `M H = R` for R (F, classes) by `factored` M, step by step as it."""
    found = right.copy()
    size = len(factors)
    for k in range(size - 1):
        found[k + 1 :] -= np.multiply((factors[k + 1 :, k] / factors[k, k])[:, None], found[k])
    for k in range(size - 1, -1, -1):
        found[k] /= factors[k, k]
        found[:k] -= np.multiply(factors[:k, k, None], found[k])
    return found
