# SPDX-License-Identifier: Apache-2.0
"""An owner deals its part, and shows that it is a sum over samples.

Members know the samples of each class, n_c, and see shares alone.  Lest a part make a head's solve exceed
its bounds, the owner also deals its samples' features f and, for each class, bits b_i, and shows

    sum over samples of f f^T = G_c,   b_i^2 = b_i,   255^2 F n_c - trace G_c = sum of b_i 2^i,  f_last = 255,

in whole numbers.  So `G_c` is a sum of n_c products of vectors whose squares are at most 255^2 F on average.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockful_py.crypto.sharing.dealing import REPEATED, Dealing, Numbers
from blockful_py.crypto.sharing.products import Shareholder
from blockful_py.crypto.sharing.residues import Array, Residues, fingerprint
from blockful_py.learning.sums import CONSTANT, part_of
from blockful_py.types import Rng

PART_BITS, FEATURE_BITS = 31, 8


@dataclass(frozen=True)
class SumOverSamples:
    """The statement, of samples by class and F features: a `QuadraticIdentity` of parts, features and bits.

    With random vectors a, b of the features, d and e of the classes, and r of the bits,

        sum of d_c (sum over samples of c of (a.f) (b.f) - a G_c b) + sum of r_i (b_i^2 - b_i)
            + sum of e_c (255^2 F n_c - trace G_c - sum of b_i 2^i)

    is a polynomial of degree 3 at most in them: if it is not 0, it vanishes with probability 3 / p at most
    (Schwartz and Zippel).
    """

    counts: tuple[int, ...]
    features: int

    @property
    def bits(self) -> int:
        """Bits of the largest trace."""
        return (CONSTANT**2 * self.features * max(self.counts)).bit_length()

    def kinds(self) -> tuple[Numbers, ...]:
        """Numbers to deal: G (classes, E), features but the last (n, F - 1) by class, bits (classes, B)."""
        classes, size = len(self.counts), self.features
        return (
            Numbers((classes, size * (size + 1) // 2), PART_BITS),
            Numbers((sum(self.counts), size - 1), FEATURE_BITS),
            Numbers((classes, self.bits), 1),
        )

    def values(self, field: Residues, numbers: Sequence[Array], rng: Rng) -> Array:
        classes, size = len(self.counts), self.features
        part, rows, bits = (
            each.reshape(-1, *kind.shape) for each, kind in zip(numbers, self.kinds(), strict=True)
        )
        a, b = (field.random((size, REPEATED), rng) for _ in range(2))
        d, e = (field.random((classes, REPEATED), rng) for _ in range(2))
        r = field.random((classes, self.bits, REPEATED), rng)
        constant = np.broadcast_to(field.of(CONSTANT)[:, None, None], (field.count, rows.shape[1], 1))
        rows = np.concatenate([rows, constant], 2)
        products = field.times(field.matmul(rows, a), field.matmul(rows, b))  # (k, n, REPEATED)
        powers = field.of(np.array([1 << i for i in range(self.bits)], object))[:, None]
        total = _weighted(field, (bits * bits - bits)[..., None], r).sum(1)
        starts = np.cumsum((0, *self.counts))
        for label, count in enumerate(self.counts):
            matrix = _symmetric(part[:, label], size)
            squares = products[:, starts[label] : starts[label + 1]].sum(1)
            gram = field.times(a, field.matmul(matrix, b)).sum(1)
            trace = np.trace(matrix, axis1=1, axis2=2) + field.times(bits, powers)[:, label].sum(1)
            rest = field.of(CONSTANT**2 * size * count) - trace
            total = total + field.times(field.reduced(squares - gram), d[:, label])
            total = total + field.times(field.reduced(rest[:, None]), e[:, label])
        return field.reduced(total)


def part_dealing(holder: Shareholder, name: str, statement: SumOverSamples) -> Dealing:
    """The rules by which the owner of the model `name` deals its part; `holder` is any member."""
    context = fingerprint(holder.context, b"part", name.encode())
    return Dealing(holder.field, holder.threshold, holder.size, context, statement.kinds(), statement)


def numbers_of(
    features: NDArray[np.float64], labels: NDArray[np.int64], classes: int, field: Residues
) -> tuple[list[Array], SumOverSamples]:
    """Residues (k, size) that an owner deals, by kind, and its public statement.

    Args:
        features: whole numbers from 0 to 255, the last one 255, (n, F).
        labels: (n,).

    Raises LearningError as `part_of`.
    """
    counts = tuple(np.bincount(labels, minlength=classes).tolist())
    statement = SumOverSamples(counts, features.shape[1])
    part = part_of(features, labels, classes).astype(np.int64)
    rows = features[np.argsort(labels, kind="stable"), :-1].astype(np.int64)
    size = features.shape[1]
    diagonal = [i * size - i * (i - 1) // 2 for i in range(size)]
    rest = CONSTANT**2 * size * np.array(counts) - part[:, diagonal].sum(1)
    bits = rest[:, None] >> np.arange(statement.bits) & 1
    return [field.of(each.reshape(-1)) for each in (part, rows, bits)], statement


def _weighted(field: Residues, numbers: Array, weights: Array) -> Array:
    """Sums over the classes of products, (k, B, REPEATED), of which each is below p."""
    total: Array = field.times(field.reduced(numbers), weights).sum(1)
    return total


def _symmetric(upper: Array, size: int) -> Array:
    row, column = np.triu_indices(size)
    matrix = np.zeros((len(upper), size, size), np.int64)
    matrix[:, row, column] = upper
    matrix[:, column, row] = upper
    return matrix
