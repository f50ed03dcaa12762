# SPDX-License-Identifier: Apache-2.0
"""Aggregation of references (paper, eq. 2, and eq. 17 for updated references)."""

from __future__ import annotations

from collections.abc import Sequence

from blockful_py.errors import LearningError
from blockful_py.learning.weights import Weights, mean, require_same_form


def aggregate(references: Sequence[Weights]) -> Weights:
    """Element-wise mean of the N references, `W~ = (1/N) sum of w_n` (paper, eq. 2).

    Returns a state dict in the references' form; integer tensors come from the first reference.

    Raises LearningError: no reference, or references of different architectures.
    """
    if not references:
        raise LearningError("an aggregate needs at least one reference; roots start from initial weights.")
    require_same_form({f"reference {i}": weights for i, weights in enumerate(references, start=1)})
    return mean(references)
