# SPDX-License-Identifier: Apache-2.0
"""The head of a model whose sums are shared among members, solved without opening them.

`HeadPlan` fixes all sizes from public numbers: features, samples of each class, factors of the graph.  With
`A = nu M / D_a`, whose eigenvalues lie in (0, 1], since traces of sums are at most 255^2 F a sample,

    X <- X (alpha I - beta A X)         makes X near A^-1: eigenvalues y of A X become y (alpha - beta y)
    H <- H + X (nu R - nu M H) / D_a    brings each remainder down by 2^GAIN, in whole numbers

in a fixed point of D_s.  alpha and beta are such that the least possible eigenvalue grows fastest.  A
division is right to `error_bits` though t - 1 members lie, and the fixed point has as many bits to spare.  So
the last H is right without a check of the result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from blockful_py.crypto.sharing.products import Shareholder, divided, divided_bits, error_bits, open_sums
from blockful_py.crypto.sharing.residues import Array, Residues, primes_above, scale
from blockful_py.crypto.sharing.rounds import Protocol
from blockful_py.errors import LearningError
from blockful_py.learning.models.ridge import FACTOR_BITS, RIDGE, Head, class_factors, equations, rounded
from blockful_py.learning.sums import CONSTANT

GAIN = 16
"""Bits by which a remainder becomes smaller in each step."""

INVERSE = 3
"""Primes of the fixed point of X and A X: 93 bits, of which errors take up to 75."""

HEAD = 4
"""Primes of the fixed point of H while it is solved."""

OPENED = 3
"""Primes of the fixed point of H when it is opened."""


@dataclass(frozen=True)
class HeadPlan:
    """Public numbers of a solve.

    Attributes:
        features: F, with the constant one.
        counts: samples of each class in T_y, each with its factor: whole numbers.
        shift: e_y.
        threshold: t.

    Raises LearningError: there are no samples.
    """

    features: int
    counts: tuple[int, ...]
    shift: int
    threshold: int

    def __post_init__(self) -> None:
        if not any(self.counts):
            raise LearningError("a model without samples has no head: ask for another model's.")

    @cached_property
    def largest(self) -> int:
        """No eigenvalue of M is above it: lambda and the sum of the traces."""
        pairs = zip(class_factors(self.counts), self.counts, strict=True)
        return self.least + CONSTANT**2 * self.features * sum(factor * count for factor, count in pairs)

    @property
    def least(self) -> int:
        """No eigenvalue of M is below it: lambda."""
        return RIDGE << FACTOR_BITS + self.shift

    @cached_property
    def width(self) -> int:
        """a, primes of the fixed point of A."""
        return primes_above(self.largest.bit_length())

    @cached_property
    def factor(self) -> int:
        """nu."""
        return scale(self.width) // self.largest

    @cached_property
    def condition_bits(self) -> int:
        return (self.largest // self.least).bit_length() + 1

    @cached_property
    def steps(self) -> tuple[tuple[float, int], ...]:
        """alpha and beta of each step, until the least eigenvalue of A X is 1 - 2^-(GAIN + 1) or more."""
        least, found = self.least * self.factor / scale(self.width), []
        while 1 - least > 2.0 ** -(GAIN + 1):
            # y (alpha - beta y) is at most alpha^2 / 4 beta = 1, and least at an end of [least, 1]
            least, alpha, beta = max(
                (min(least * (alpha - beta * least), alpha - beta), alpha, beta)
                for alpha, beta in ((2 * math.sqrt(beta), beta) for beta in (1, 2, 3))
            )
            found.append((alpha, beta))
        return tuple(found)

    @cached_property
    def head_bits(self) -> int:
        """Bits of the largest number of a head: `lambda |h|^2` is at most 255^2 times the mean samples."""
        there = [each for each in self.counts if each]
        mean = sum(there) / len(there) / 2**self.shift
        return max(1, math.ceil(math.log2(CONSTANT * math.sqrt(mean / RIDGE) + 1)) + 1)

    @cached_property
    def inverse_bits(self) -> tuple[int, int]:
        """Bits of the products A X and X (alpha I - beta A X) before division."""
        ax = scale(self.width + INVERSE).bit_length() + 1
        return ax, scale(2 * INVERSE).bit_length() + self.condition_bits + 2

    @cached_property
    def refinements(self) -> tuple[tuple[int, int, int], ...]:
        """Of each step: bits of the remainder, primes by which it is divided, bits of the product with X."""
        noise = self._error(self.features * len(self.counts)) + self.features.bit_length() + 2
        floor = scale(self.width).bit_length() + noise
        bits, found = scale(self.width + HEAD).bit_length() + self.head_bits + 1, []
        while bits > floor:
            spare = bits - GAIN - 1 - noise - self.condition_bits
            drop = min(max(0, spare // 31), self.width + INVERSE - 1)
            found.append((bits, drop, bits + 31 * (INVERSE - drop) + 2))
            bits -= GAIN
        return tuple(found)

    @cached_property
    def primes(self) -> int:
        """Primes of the field, k, so that no number wraps around, though t - 1 members lie."""
        square, thin = self.features**2, self.features * len(self.counts)
        needs = [self._needed(square, bits) for bits in self.inverse_bits]
        for remainder, _, correction in self.refinements:
            needs += [self._needed(thin, remainder), self._needed(thin, correction)]
        return primes_above(max(needs))

    def _needed(self, size: int, bits: int) -> int:
        return divided_bits(size, self.threshold, bits)

    def _error(self, size: int) -> int:
        return error_bits(size, self.threshold)


def shared_head(holder: Shareholder, plan: HeadPlan, total: Array, use: str) -> Protocol[Head]:
    """Opens the head, and nothing else, of a model of which members have shares (k, classes, E) of T_y.

    Args:
        use: names this solve in the members' proofs; another for each.

    Returns:
        The head that `ridge.head_of` computes from the sums.

    Raises:
        LearningError: the members' field is too small for this plan.
        CheaterError: members whose messages fail verification.
        CryptoError: shares are wrong, and whose cannot be told.
    """
    field = holder.field
    if field.count < plan.primes:
        raise LearningError(
            f"this model's head needs {plan.primes} primes, and its sums are shared modulo {field.count}: "
            "share them modulo more."
        )
    matrix, right = equations(field, total, plan.counts, plan.shift)
    matrix, right = field.scaled(matrix, plan.factor), field.scaled(right, plan.factor)
    inverse = yield from _inverse(holder, plan, matrix, use)
    found = np.zeros_like(right)
    for i, (bits, drop, product_bits) in enumerate(plan.refinements):
        rest = field.reduced(field.scaled(right, scale(HEAD)) - field.matmul(matrix, found))
        rest = yield from divided(holder, rest, bits, drop, f"{use}, remainder {i}")
        step = field.matmul(inverse, rest)
        step = yield from divided(
            holder, step, product_bits, plan.width + INVERSE - drop, f"{use}, correction {i}"
        )
        found = field.reduced(found + step)
    bits = scale(HEAD).bit_length() + plan.head_bits
    found = yield from divided(holder, found, bits, HEAD - OPENED, f"{use}, head")
    head = yield from open_sums(holder, found, holder.threshold - 1)
    return rounded(field.centred(head), scale(HEAD) // scale(HEAD - OPENED))


def _inverse(holder: Shareholder, plan: HeadPlan, matrix: Array, use: str) -> Protocol[Array]:
    """Shares (k, F, F) of X in a fixed point of D_INVERSE."""
    field = holder.field
    identity = np.eye(plan.features, dtype=np.int64)
    found = field.scaled(np.broadcast_to(identity, matrix.shape), scale(INVERSE))
    ax_bits, x_bits = plan.inverse_bits
    for i, (alpha, beta) in enumerate(plan.steps):
        ax = yield from divided(holder, field.matmul(matrix, found), ax_bits, plan.width, f"{use}, A X {i}")
        public = _diagonal(field, identity, int(alpha * 2**52) * scale(INVERSE) >> 52)
        change = field.reduced(public - beta * ax)
        found = yield from divided(holder, field.matmul(found, change), x_bits, INVERSE, f"{use}, X {i}")
    return found


def _diagonal(field: Residues, identity: Array, number: int) -> Array:
    return field.of(number)[:, None, None] * identity
