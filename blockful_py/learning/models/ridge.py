# SPDX-License-Identifier: Apache-2.0
"""The head of a model of sums: ridge regression on 0 and 1 for each class, with the same bits everywhere."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from blockful_py.errors import LearningError

Array = NDArray[np.float64]

RIDGE = 1000.0
"""lambda, in squared features; chosen with seed 41, on digits also with 5 and 6, which results have too."""

HEAD_BITS = 30
"""Bits of a head's largest number; products with 4,097 features below 2^8 stay exact in float64."""


def head_of(means: Array) -> tuple[Array, int]:
    """Minimises `sum_c n/n_c sum over samples of c of |H^T f - 255 e_c|^2 + lambda |H|^2`.

    n_c are the samples of a class and n their mean over the classes that there are.  So the normal equations
    are `(sum_c n/n_c G_c + lambda I) H = [n/n_c G_c[:, last]]_c`.

    Args:
        means: sums of `f f^T` by class, (classes, E), with the constant feature last.

    Returns:
        The head, whole numbers (F, classes) of at most HEAD_BITS bits, and the exponent s of its unit 2^-s.

    Raises LearningError: the sums are of no samples, so that no head follows.
    """
    classes, entries = means.shape
    size = (math.isqrt(8 * entries + 1) - 1) // 2
    upper = np.triu_indices(size)
    counts = means[:, -1]
    there = np.flatnonzero(counts > 0)
    matrix, right = np.zeros((size, size)), np.zeros((size, classes))
    if len(there):
        usual = _total(counts[there]) / len(there)
        for label in there:
            weighted = means[label] * (usual / counts[label])
            matrix[upper] += weighted
            right[:, label] = weighted[upper[1] == size - 1]
    matrix = np.triu(matrix) + np.triu(matrix, 1).T
    matrix[np.diag_indices(size)] += RIDGE
    with np.errstate(all="ignore"):
        head = solve(matrix, right)
    if not np.isfinite(head).all():
        raise LearningError("the sums of this model are of no samples, and no head follows: refuse it.")
    exponent = HEAD_BITS - int(np.frexp(np.abs(head).max())[1])
    return np.rint(np.ldexp(head, exponent)), exponent


def solve(matrix: Array, right: Array) -> Array:
    """Solves `M H = R` for a symmetric positive definite M (F, F) and R (F, classes), by M = L D L^T.

    Only element-wise products, quotients and differences are computed, one rounding each: a library's sums
    and fused steps have other bits on other processors.
    """
    left, found = matrix.copy(), right.copy()
    size = len(left)
    for k in range(size - 1):
        column = left[k + 1 :, k] / left[k, k]
        left[k + 1 :, k + 1 :] -= np.multiply(column[:, None], left[k, k + 1 :])
        found[k + 1 :] -= np.multiply(column[:, None], found[k])
    for k in range(size - 1, -1, -1):
        found[k] /= left[k, k]
        found[:k] -= np.multiply(left[:k, k, None], found[k])
    return found


def _total(values: Array) -> float:
    """Sum of a vector in order."""
    total = 0.0
    for value in values.tolist():
        total += value
    return total
