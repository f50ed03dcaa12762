# SPDX-License-Identifier: Apache-2.0
"""Whole numbers in place of weights, to which each owner adds its part.

The part `s_i` of an owner holds, for each class, the sum of `f f^T` over its samples of the class; f are a
sample's features, whole numbers from 0 to 255.  In a merged model it holds a change of a network's weights
(`models.merged`).  A model y with N references r is

    T_y = 2^e_y s_y + sum over r of 2^(e_y - k - e_r) T_r,   k = ceil(log2 N),   e_y = k + max over r of e_r,

and `T_y = s_y`, `e_y = 0` for a root.  So `T_y / 2^e_y` is the model's own part and the mean of its
references' (paper, eq. 2), or N / 2^k times that mean if N is no power of two.  Written out, `T_y = sum over
models i of A[y, i] s_i`: integers A that the graph alone determines, `A[y, i] / 2^e_y` being C of eq. 8.

Bounds: entries are from 0, and below 2^31 in a part.  T_y of generation g (its longest path to a root)
is below `2^(e_y + 31) (g + 1)`, and e_y at most `g k`.  Two words of 62 bits therefore hold 43 generations of
four references and 86 of two, for any data.  Larger sums are refused.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from blockful_py.errors import LearningError

OWN, INHERITED, SHIFT = "own", "inherited", "shift"
"""Tensors of a model: its part s_y, int32 (classes, E); the rest of T_y as words, int64 (WORDS, classes, E),
the least significant word first; and e_y, int64 ().

E = F (F + 1) / 2 are the entries of `f f^T` on and above its diagonal, row after row.  The last feature is
the CONSTANT, so the last entry is CONSTANT^2 times the number of samples.  A merged model has one row in
place of the classes, and its base beside these tensors.
"""

CONSTANT = 255
"""The last feature of every sample."""

HALF = 2**30
"""The offset of each change in a merged model's part, which makes it positive; also the last entry."""

WORDS, BITS = 2, 62
MASK = (1 << BITS) - 1
LARGEST_PART = 2**31 - 1

TOO_LARGE = (
    f"the sums of this model and its ancestors have more than {WORDS * BITS} bits: use fewer references "
    "(federation.references) or generations (federation.rounds), or choose a network (learning.model)."
)

Integers = NDArray[np.int64]
"""Whole numbers from 0 as words of BITS bits, int64 (WORDS, classes, E)."""


def is_sums(weights: Mapping[str, Tensor]) -> bool:
    """Whether a state dict belongs to a model of sums."""
    return weights.keys() >= {OWN, INHERITED, SHIFT}


def is_merged(weights: Mapping[str, Tensor]) -> bool:
    """Whether a model of sums has a base, to which its sums are changes."""
    return weights.keys() > {OWN, INHERITED, SHIFT}


def no_sums(classes: int, entries: int) -> dict[str, Tensor]:
    """State dict of a model without samples and references."""
    return {
        OWN: torch.zeros(classes, entries, dtype=torch.int32),
        INHERITED: torch.zeros(WORDS, classes, entries, dtype=torch.int64),
        SHIFT: torch.zeros((), dtype=torch.int64),
    }


def emptied(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A model of this form without parts and references."""
    return {**weights, **no_sums(*weights[OWN].shape)}


def part_of(features: NDArray[np.float64], labels: NDArray[np.int64], classes: int) -> NDArray[np.int32]:
    """Computes an owner's part s_i: the sum of `f f^T` over the samples of each class, int32 (classes, E).

    Products and sums are of whole numbers below 2^53 in float64, hence exact in any order.

    Args:
        features: whole numbers from 0 to 255, float64 (n, F).
        labels: (n,).

    Raises LearningError: the samples of a class are too many for 31 bits; 33,025 always fit.
    """
    count = features.shape[1]
    upper = np.triu_indices(count)
    part = np.zeros((classes, count * (count + 1) // 2), np.int32)
    for label in np.unique(labels):
        some = features[labels == label]
        gram = (some.T @ some)[upper]
        if gram.max() > LARGEST_PART:
            raise LearningError(
                f"{len(some):,} samples of class {label} overflow 31 bits of an owner's sums: let an owner "
                "hold at most 33,025 samples of a class, or choose a network (learning.model)."
            )
        part[label] = gram.astype(np.int32)
    return part


def aggregate_sums(references: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The model of N references without samples of its own, `sum of 2^(e_y - k - e_r) T_r`.

    Raises LearningError: a reference's numbers are out of bounds, or the sum has more than 124 bits.
    """
    for reference in references:
        require_bounds(reference)
    bits = (len(references) - 1).bit_length()
    shift = bits + max(int(each[SHIFT]) for each in references)
    if shift >= WORDS * BITS:
        raise LearningError(TOO_LARGE)
    total = _zeros(references[0])
    for each in references:
        total = _added(total, _shifted(total_of(each), shift - bits - int(each[SHIFT])))
    return {
        **references[0],
        OWN: torch.zeros_like(references[0][OWN]),
        INHERITED: torch.from_numpy(total),
        SHIFT: torch.tensor(shift, dtype=torch.int64),
    }


def with_part(weights: Mapping[str, Tensor], part: NDArray[np.int32]) -> dict[str, Tensor]:
    """A model with another own part.  Raises as `aggregate_sums`."""
    new = {**weights, OWN: torch.from_numpy(part)}
    total_of(new)
    return new


def without_classes(weights: Mapping[str, Tensor], classes: Collection[int]) -> dict[str, Tensor]:
    """A copy of a model whose sums of these classes are 0."""
    gone = sorted(classes)
    new = {name: tensor.clone() for name, tensor in weights.items()}
    new[OWN][gone] = 0
    new[INHERITED][:, gone] = 0
    return new


def uncounted(weights: Mapping[str, Tensor], classes: Collection[int]) -> dict[str, Tensor]:
    """A copy of a model in which these classes count no samples: it predicts as without their sums, but keeps
    them."""
    gone = sorted(classes)
    new = {name: tensor.clone() for name, tensor in weights.items()}
    new[OWN][gone, -1] = 0
    new[INHERITED][:, gone, -1] = 0
    return new


def total_of(weights: Mapping[str, Tensor]) -> Integers:
    """T_y, int64 (WORDS, classes, E).  Raises LearningError if it has more than 124 bits."""
    own = _zeros(weights)
    own[0] = weights[OWN].cpu().numpy()
    return _added(weights[INHERITED].cpu().numpy(), _shifted(own, int(weights[SHIFT])))


def held(weights: Mapping[str, Tensor]) -> tuple[int, ...]:
    """Classes of which a model has samples, ascending."""
    own, inherited = weights[OWN][:, -1], weights[INHERITED][:, :, -1]
    return tuple(torch.nonzero((own > 0) | (inherited > 0).any(0)).flatten().tolist())


def require_bounds(weights: Mapping[str, Tensor]) -> None:
    """Checks the numbers of a model that somebody else made.  Raises LearningError."""
    own, inherited, shift = weights[OWN], weights[INHERITED], int(weights[SHIFT])
    if not 0 <= shift < WORDS * BITS:
        raise LearningError(f"a model of sums has the shift {shift}, not 0 to {WORDS * BITS - 1}: refuse it.")
    for name, tensor, most in ((OWN, own, LARGEST_PART), (INHERITED, inherited, MASK)):
        if tensor.numel() and not 0 <= int(tensor.min()) <= int(tensor.max()) <= most:
            raise LearningError(
                f"a model of sums has numbers from {int(tensor.min())} to {int(tensor.max())} in {name!r}, "
                f"not 0 to {most}: refuse it."
            )


def require_part(part: Tensor) -> None:
    """Checks an owner's own part, int32 (classes, E).  Raises LearningError unless `is_part`."""
    if not is_part(part):
        raise LearningError("the own part of a model of sums is no sum over samples: refuse it.")


def require_change(part: Tensor) -> None:
    """Checks an owner's own part of a merged model, int32 (1, E).

    Raises LearningError unless it is a change of weights (`models.merged`), or zeros.
    """
    last = int(part[0, -1])
    if int(part.min()) < 1 if last == HALF else bool(part.any()):
        raise LearningError("the own part of a merged model is no change of weights: refuse it.")


def is_part(part: Tensor) -> bool:
    """Whether whole numbers (classes, E) can be sums of `f f^T` with features from 0 to 255.

    Then `G_ij^2 <= G_ii G_jj`, `G_ii <= G_i,last <= G_last,last`, and the last entry counts samples.  So the
    number of samples that a dishonest owner claims bounds the part that it invents.
    """
    size = (math.isqrt(8 * part.shape[1] + 1) - 1) // 2
    rows, columns = torch.triu_indices(size, size)
    entries = part.cpu().long()
    squares, last = entries[:, rows == columns], entries[:, columns == size - 1]
    count = entries[:, -1:]
    return not (
        bool((entries < 0).any())
        or bool((count % CONSTANT**2).any())
        or bool((squares > last).any())
        or bool((last > count).any())
        or bool((entries**2 > squares[:, rows] * squares[:, columns]).any())
    )


def require_inherited(weights: Mapping[str, Tensor], references: Sequence[Mapping[str, Tensor]]) -> None:
    """Checks a published model: it inherits the sums of its references and nothing else.

    Raises LearningError; also as `require_bounds`, `require_part`, `require_change` and `aggregate_sums`.
    """
    require_bounds(weights)
    require_own = require_change if is_merged(weights) else require_part
    require_own(weights[OWN])
    expected = aggregate_sums(references) if references else emptied(weights)
    if not all(torch.equal(weights[name], expected[name]) for name in (INHERITED, SHIFT)):
        raise LearningError("this model of sums inherits others than its references': add them up again.")
    total_of(weights)


def require_base(weights: Mapping[str, Tensor], initial: Mapping[str, Tensor]) -> None:
    """Checks that a model has the base of the shared initialisation, bit for bit.  Raises LearningError."""
    odd = [
        name for name in initial.keys() - {OWN, INHERITED, SHIFT} if not weights[name].equal(initial[name])
    ]
    if odd:
        raise LearningError(f"this merged model's base is not the shared one, in {odd[0]!r}: refuse it.")


def _zeros(weights: Mapping[str, Tensor]) -> Integers:
    return np.zeros((WORDS, *weights[OWN].shape), np.int64)


def _added(left: Integers, right: Integers) -> Integers:
    """Sum of two numbers.  Two words and a carry are below 2^63."""
    total, carry = np.empty_like(left), np.zeros(left.shape[1:], np.int64)
    for i in range(WORDS):
        word = left[i] + right[i] + carry
        total[i], carry = word & MASK, word >> BITS
    _require_fit(carry)
    return total


def _shifted(words: Integers, by: int) -> Integers:
    """The number times 2^by, by from 0."""
    skipped, bits = divmod(by, BITS)
    shifted, carry = np.zeros_like(words), np.zeros(words.shape[1:], np.int64)
    for i in range(WORDS):
        low = ((words[i] << bits) & MASK) | carry
        carry = words[i] >> (BITS - bits)
        if i + skipped < WORDS:
            shifted[i + skipped] = low
        else:
            _require_fit(low)
    _require_fit(carry)
    return shifted


def _require_fit(beyond: NDArray[np.int64]) -> None:
    if beyond.any():
        raise LearningError(TOO_LARGE)
