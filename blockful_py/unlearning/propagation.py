# SPDX-License-Identifier: Apache-2.0
"""Passes the starts' changes to their descendants (paper, eq. 7 and 8), with the same bits on every machine.

A committee member can therefore recompute and check the result before signing.
All operations are products and sums of float32 arrays, element by element and term by term in the order of
the starts: IEEE 754 fixes each result.  Matrix products and fused multiply-adds are faster but not used,
because their order and rounding differ between machines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from blockful_py.errors import UnlearningError
from blockful_py.graph.path_weights import PathWeights
from blockful_py.learning.tensor_parts import TensorForm, computed, forms_of, parts_of
from blockful_py.learning.weights import (
    Vector,
    Weights,
    flatten,
    unflatten,
    with_sound_variance,
    with_sound_variances,
)
from blockful_py.on_demand import OnDemand

BLOCK = 2**15
"""Numbers passed at once; a few arrays of this length fit a processor's cache."""

Change = Weights
"""A change of weights, float32: the floating-point tensors, by name."""

Term = tuple[np.float32, Change]
"""A term's weight `alpha C[y, k]` and change `delta_k`."""


@dataclass(frozen=True, slots=True, eq=False)
class Propagation:
    """New state dicts of the descendants that change, and the L2 norms of the other descendants' updates."""

    weights: Mapping[str, Weights]
    skipped: Mapping[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class Passing:
    """Terms to pass to each descendant, computed without its weights.

    Attributes:
        terms: terms of each descendant that changes, in the order of the starts.
        skipped: L2 norms of the other descendants' updates.
    """

    terms: Mapping[str, tuple[Term, ...]]
    skipped: Mapping[str, float]


def delta(old: Weights, new: Weights) -> Change:
    """Change of a start, `grad theta_s = w'_s - w_s` of the paper's eq. 7, computed where it is read."""
    forms = {name: TensorForm("F32", form.shape) for name, form in _floating(new).items()}

    def parts(name: str, count: int) -> Iterator[Tensor]:
        for after, before in zip(parts_of(new, name, count), parts_of(old, name, count), strict=True):
            yield after.to("cpu", torch.float32) - before.to("cpu", torch.float32)

    return computed(forms, (old, new), parts)


def length(change: Change) -> float:
    """The L2 norm of a change, summed in float64 block by block."""
    return sqrt(sum(float(np.square(block.astype(np.float64)).sum()) for block in _blocks(change)))


def propagate(
    weights: Mapping[str, Weights],
    path_weights: PathWeights,
    deltas: Mapping[str, Change],
    alpha: float,
    epsilon: float,
) -> Propagation:
    """Updates every descendant by `w'_y = w_y + alpha sum_k C[y, k] delta_k` (paper, eq. 8).

    Updates whose L2 norm is at most epsilon are skipped.  The starts are not in the result: their new weights
    are given, and `deltas` come from them.  Each descendant's weights are computed where they are read, part
    by part, so memory need hold no whole model.

    Args:
        weights: old state dicts, at least of the descendants.
        path_weights: C, float64 (models, starts).
        deltas: change of every start.
        alpha: discount factor, above 0.
        epsilon: threshold on the L2 norm of an update, at least 0.

    Raises:
        UnlearningError: alpha or epsilon out of range, or a descendant's weights or a start's change missing.
    """
    missing = [name for name in path_weights.descendants if name not in weights]
    if missing:
        raise UnlearningError(
            f"weights or changes are missing for {', '.join(missing)}: give every start and descendant."
        )
    passes = passing(path_weights, deltas, alpha, epsilon)
    new = OnDemand(passes.terms, lambda name: passed(weights[name], passes.terms[name]))
    return Propagation(new, passes.skipped)


def passed(old: Weights, terms: Sequence[Term]) -> Weights:
    """A descendant's new weights, `old + sum_k weight_k delta_k`, computed where they are read."""

    def parts(name: str, count: int) -> Iterator[Tensor]:
        if not forms_of(old)[name].is_floating:
            yield from (part.clone() for part in parts_of(old, name, count))
            return
        scratch, weights = Scratch(), [weight for weight, _ in terms]
        changes = (parts_of(change, name, count) for _, change in terms)
        for part, *moves in zip(parts_of(old, name, count), *changes, strict=True):
            before, moved = part.to("cpu", torch.float32).numpy(), [move.numpy() for move in moves]
            new = np.empty_like(before)
            for begin in range(0, len(new), BLOCK):
                some = slice(begin, begin + BLOCK)
                at = [(weight, move[some]) for weight, move in zip(weights, moved, strict=True)]
                pass_block(before[some], at, new[some], scratch)
            yield with_sound_variance(name, torch.from_numpy(new).to(part), part)

    return computed(forms_of(old), (old, *(change for _, change in terms)), parts)


def _floating(weights: Weights) -> dict[str, TensorForm]:
    forms = forms_of(weights)
    return {name: forms[name] for name in sorted(forms) if forms[name].is_floating}


def _blocks(change: Change) -> Iterator[Vector]:
    """All numbers of a change by ascending name, float32 (BLOCK,) each, fewer at its end."""
    left = np.empty(0, np.float32)
    for name in sorted(change):
        for part in parts_of(change, name):
            joined, at = np.concatenate([left, part.numpy()]) if len(left) else part.numpy(), 0
            while len(joined) - at >= BLOCK:
                yield joined[at : at + BLOCK]
                at += BLOCK
            left = joined[at:]
    if len(left):
        yield left


def passing(path_weights: PathWeights, deltas: Mapping[str, Change], alpha: float, epsilon: float) -> Passing:
    """Terms that `propagate` adds to each descendant (paper, eq. 8); takes the same arguments.

    The norm of an update follows from the products of the starts' changes, `|sum_k c_k delta_k|^2 = sum_jk
    c_j c_k delta_j . delta_k` in float64, so skipped updates are never computed.  If changes cancel each
    other, the computed norm may be up to 1e-8 of their norms.  With epsilon = 0 a model is skipped if no
    start that reaches it has changed.

    Raises UnlearningError: alpha or epsilon out of range, or a start's change missing.
    """
    if not (np.isfinite(alpha) and alpha > 0 and np.isfinite(epsilon) and epsilon >= 0):
        raise UnlearningError(f"alpha must be positive and epsilon at least 0, not {alpha} and {epsilon}.")
    missing = [start for start in path_weights.starts if start not in deltas]
    if missing:
        raise UnlearningError(
            f"weights or changes are missing for {', '.join(missing)}: give every start and descendant."
        )
    changes = [deltas[start] for start in path_weights.starts]
    products = _products(changes) if epsilon else np.diag([float(_is_any(each)) for each in changes])
    terms: dict[str, tuple[Term, ...]] = {}
    skipped: dict[str, float] = {}
    width = len(path_weights.starts)
    for name, row in zip(path_weights.descendants, path_weights.matrix[width:], strict=True):
        norm = alpha * sqrt(max(0.0, float((row[:, None] * row * products).sum())))
        if norm <= epsilon:
            skipped[name] = norm
        else:
            terms[name] = terms_of(row, path_weights.starts, deltas, alpha)
    return Passing(terms, skipped)


def terms_of(
    row: NDArray[np.float64], starts: Sequence[str], deltas: Mapping[str, Change], alpha: float
) -> tuple[Term, ...]:
    """Terms of one model, in the order of the starts.

    Args:
        row: C[y], float64 (starts,).
        deltas: changes of the starts whose weight is not 0.
    """
    return tuple(
        (np.float32(alpha * weight), deltas[start])
        for weight, start in zip(row, starts, strict=True)
        if weight
    )


class Scratch:
    """Buffers for a block's sums, float32 (BLOCK,) each, reused for many blocks."""

    def __init__(self) -> None:
        self.total, self.term = np.empty(BLOCK, np.float32), np.empty(BLOCK, np.float32)


def pass_block(
    old: Vector, terms: Sequence[tuple[np.float32, Vector]], new: Vector, scratch: Scratch
) -> None:
    """Computes `new = old + sum_k weight_k delta_k`, the sum first, over one or more terms.

    Args:
        old, new: float32 (b,), b at most BLOCK; they may be the same array.
        terms: weights and parts of the changes, float32 (b,).
    """
    total, term = scratch.total[: len(old)], scratch.term[: len(old)]
    for k, (weight, change) in enumerate(terms):
        np.multiply(change, weight, out=term if k else total)
        if k:
            np.add(total, term, out=total)
    np.add(old, total, out=new)


def moved(weights: Weights, change: NDArray[np.floating]) -> Weights:
    """The weights `w + change`, rounded once to float32; see `with_sound_variances` for variances.

    `change` is (D,).  Raises LearningError if it and the weights differ in length.
    """
    return with_sound_variances(unflatten((flatten(weights) + change).astype(np.float32), weights), weights)


def _is_any(change: Change) -> bool:
    return any(bool(part.any()) for name in change for part in parts_of(change, name))


def _products(changes: Sequence[Change]) -> NDArray[np.float64]:
    """Products `delta_j . delta_k` of all starts, float64 (starts, starts), summed block by block."""
    products = np.zeros((len(changes), len(changes)))
    for same in zip(*map(_blocks, changes), strict=True):
        blocks = [block.astype(np.float64) for block in same]
        for j, left in enumerate(blocks):
            for k in range(j + 1):
                products[j, k] += float((left * blocks[k]).sum())
    return products + np.tril(products, -1).T
