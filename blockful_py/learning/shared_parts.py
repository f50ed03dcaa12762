# SPDX-License-Identifier: Apache-2.0
"""An owner deals its part, and shows that it is a sum over samples.

Members know the samples of each class, n_c, and see shares alone.  Lest a part make a head's solve exceed
its bounds, the owner also deals its samples' features f and, for each class, bits b_i, and shows

    sum over samples of f f^T = G_c,   b_i^2 = b_i,   255^2 F n_c - trace G_c = sum of b_i 2^i,  f_last = 255,

in whole numbers.  So `G_c` is a sum of n_c products of vectors whose squares are at most 255^2 F on average.

It also deals the number of each sample's row.  When it takes samples out, and deals the rest anew, members
open the old numbers, and see that the rest are the same samples under the same numbers (`require_rest`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockful_py.crypto.sharing.dealing import REPEATED, SELECTIONS, Dealing, Numbers, selection_sums
from blockful_py.crypto.sharing.products import Shareholder, open_sums
from blockful_py.crypto.sharing.residues import Array, Residues, fingerprint
from blockful_py.crypto.sharing.rounds import Protocol
from blockful_py.errors import RefutedError
from blockful_py.learning.sums import CONSTANT, part_of
from blockful_py.types import Rng

PART_BITS, FEATURE_BITS, ROW_BITS = 31, 8, 31

SUMS, SAMPLES, BITS, ROWS = range(4)
"""Kinds of numbers (`SumOverSamples.kinds`)."""


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
        """Numbers to deal, samples by class.

        G (classes, E), features but the last (n, F - 1), bits (classes, B), rows (n,).
        """
        classes, size = len(self.counts), self.features
        return (
            Numbers((classes, size * (size + 1) // 2), PART_BITS),
            Numbers((sum(self.counts), size - 1), FEATURE_BITS),
            Numbers((classes, self.bits), 1),
            Numbers((sum(self.counts),), ROW_BITS),
        )

    def values(self, field: Residues, numbers: Sequence[Array], rng: Rng) -> Array:
        classes, size = len(self.counts), self.features
        part, rows, bits, _ = (
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
    features: NDArray[np.float64],
    labels: NDArray[np.int64],
    rows: NDArray[np.int64],
    classes: int,
    field: Residues,
) -> tuple[list[Array], SumOverSamples]:
    """Residues (k, size) that an owner deals, by kind, and its public statement.

    Args:
        features: whole numbers from 0 to 255, the last one 255, (n, F).
        labels: (n,).
        rows: numbers of the samples' rows in their owner's data, (n,).

    Raises LearningError as `part_of`.
    """
    counts = tuple(np.bincount(labels, minlength=classes).tolist())
    statement = SumOverSamples(counts, features.shape[1])
    part = part_of(features, labels, classes).astype(np.int64)
    by_class = np.argsort(labels, kind="stable")
    samples = features[by_class, :-1].astype(np.int64)
    size = features.shape[1]
    diagonal = [i * size - i * (i - 1) // 2 for i in range(size)]
    rest = CONSTANT**2 * size * np.array(counts) - part[:, diagonal].sum(1)
    bits = rest[:, None] >> np.arange(statement.bits) & 1
    return [field.of(each.reshape(-1)) for each in (part, samples, bits, rows[by_class])], statement


def require_rest(
    holder: Shareholder,
    old: Mapping[int, Array],
    new: Mapping[int, Array],
    named: Collection[int],
    commitments: Sequence[bytes],
) -> Protocol[None]:
    """Checks, with the other members, that a new part has the old one's samples without the `named` rows.

    Members learn the rows of the old samples, by class.

    Args:
        old, new: shares (k, n_c, F) by class, of samples' features but the last, and of their rows.
        commitments: to the new shares; another dealing passes with probability below h 2^-80 if its dealer
            tries h hashes.

    Raises RefutedError if it has others, and as `open_sums`.
    """
    degree, numbers = holder.threshold - 1, [each[..., -1] for _, each in sorted(old.items())]
    rows = holder.field.centred((yield from open_sums(holder, np.concatenate(numbers, 1), degree)))
    ends = np.cumsum([each.shape[1] for each in numbers])[:-1]
    stays = np.split(np.array([row not in named for row in rows]), ends)
    rest = {label: old[label][:, each] for label, each in zip(sorted(old), stays, strict=True) if each.any()}
    if {label: each.shape for label, each in rest.items()} != {
        label: each.shape for label, each in new.items()
    }:
        raise RefutedError("it has not as many samples of each class as are left without the rows named")
    differences = [(rest[label] - new[label]).reshape(holder.field.count, -1) for label in sorted(rest)]
    seed = fingerprint(holder.context, b"rest", np.concatenate(stays).tobytes(), *commitments)
    hidden = np.zeros((holder.field.count, SELECTIONS), np.int64)
    sums = selection_sums(holder.field, seed, holder.field.reduced(np.concatenate(differences, 1)), hidden).T
    if (yield from open_sums(holder, sums, degree)).any():
        raise RefutedError("it has other samples, or under other rows, than are left of the old part")


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
