# SPDX-License-Identifier: Apache-2.0
"""Path weights: the share of each start's change that reaches each model (paper, eq. 7 and 8)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array
from scipy.sparse.linalg import spsolve_triangular

from blockful_py.errors import GraphError
from blockful_py.graph.inheritance import InheritanceGraph


@dataclass(frozen=True)
class PathWeights:
    """Path weights C of eq. 8, by model and start.

    `matrix[i, k]` is the sum over the paths p from `starts[k]` to `names[i]` of
    `1 / prod(N_j for j on p, except the start)`.

    Attributes:
        names: starts, then their descendants in topological order.
        starts: columns.
        matrix: float64, shape (len(names), len(starts)); the first rows are the identity.
    """

    names: tuple[str, ...]
    starts: tuple[str, ...]
    matrix: NDArray[np.float64]

    @property
    def descendants(self) -> tuple[str, ...]:
        return self.names[len(self.starts) :]

    def row(self, name: str) -> NDArray[np.float64]:
        """Weights of one affected model, shape (len(starts),).  Raises ValueError for another model."""
        row: NDArray[np.float64] = self.matrix[self.names.index(name)]
        return row


def path_weights(graph: InheritanceGraph, starts: Sequence[str]) -> PathWeights:
    """Solves `C[y] = (1/N_y) sum over references j of C[j]`, `C[s] = e_s`, for all affected models.

    With D the descendants in topological order, A[y, j] = 1/N_y, S the starts: (I - A_DD) C_D = A_DS, a
    sparse unit lower triangular system, O(E k).  A start's row is its unit vector, so a path through another
    start is cut there: that start's own change is already its total change.

    Raises:
        UnknownModelError: a start is not in the graph.
        GraphError: no start, or one named twice.
    """
    starts = tuple(starts)
    if not starts or len(set(starts)) < len(starts):
        raise GraphError(f"give one or more starts, each once, not {list(starts)}.")
    sources = graph.numbers(starts)
    rows = graph.reached(starts)
    count, width = len(rows), len(starts)
    column = np.full(len(graph), -1, dtype=np.int64)
    column[rows] = np.arange(count)
    column[sources] = count + np.arange(width)

    degrees = np.diff(graph.indptr)[rows]
    heir = np.repeat(np.arange(count, dtype=np.int64), degrees)
    offset = np.arange(int(degrees.sum()), dtype=np.int64) - np.repeat(np.cumsum(degrees) - degrees, degrees)
    reference = column[graph.indices[graph.indptr[rows][heir] + offset]]
    weight = 1.0 / degrees[heir]

    matrix = np.zeros((width + count, width), order="F")
    matrix[np.arange(width), np.arange(width)] = 1.0
    if count:
        known = reference >= count
        right = np.zeros((count, width), order="F")
        right[heir[known], reference[known] - count] = weight[known]
        among = (reference >= 0) & ~known
        edges = (-weight[among], (heir[among], reference[among]))
        system = csc_array(edges, shape=(count, count))
        matrix[width:] = spsolve_triangular(
            system, right, lower=True, unit_diagonal=True, overwrite_A=True, overwrite_b=True
        )
    matrix.setflags(write=False)
    names = (*starts, *(graph.names[i] for i in rows))
    return PathWeights(names, starts, matrix)


def depth_bound(update_norm: float, epsilon: float, single_reference_models: int = 0) -> int | None:
    """Depth from which one path passes at most epsilon: `max(1, ceil(log2(|grad|/epsilon))) + c`.

    Equations 14 and 16, with `update_norm` = |alpha grad theta_s| and c = `single_reference_models`, the
    models on the path with a single reference, which pass everything on.  The bound holds for each path
    alone; if several paths meet, their sum can exceed epsilon deeper (docs/explanation/unlearning.md).
    Returns None if epsilon is 0: no update is ever cut.

    Raises GraphError: a norm or epsilon is negative or not finite.
    """
    if not (math.isfinite(update_norm) and update_norm >= 0 and math.isfinite(epsilon) and epsilon >= 0):
        raise GraphError(
            f"the update norm and epsilon must be finite and at least 0, not {update_norm} and {epsilon}."
        )
    if epsilon == 0:
        return None
    if update_norm <= epsilon:
        return 1 + single_reference_models
    # Exact: with norm = a 2^i, epsilon = b 2^j, a and b in [1/2, 1), the least d with epsilon 2^d >= norm.
    (a, i), (b, j) = math.frexp(update_norm), math.frexp(epsilon)
    return max(1, i - j if b >= a else i - j + 1) + single_reference_models


def single_reference_models(graph: InheritanceGraph, starts: tuple[str, ...]) -> int:
    """The constant c of theorem 1: number of descendants of the starts with a single reference."""
    rows = graph.reached(starts)
    return int((graph.indptr[rows + 1] - graph.indptr[rows] == 1).sum())
