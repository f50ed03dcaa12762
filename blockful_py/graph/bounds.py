# SPDX-License-Identifier: Apache-2.0
"""The depth to which an update must be passed (paper, theorem 1)."""

from __future__ import annotations

import math

from blockful_py.errors import GraphError
from blockful_py.graph.inheritance import InheritanceGraph


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
