# SPDX-License-Identifier: Apache-2.0
"""Distances between two models, in their outputs and in their weights."""

from __future__ import annotations

import numpy as np

from blockful_py.learning.weights import Weights, flatten
from blockful_py.unlearning.audit.network import Floats


def jensen_shannon(left: Floats, right: Floats) -> float:
    """Mean Jensen-Shannon divergence over samples, in nats: `H((P + Q) / 2) - (H(P) + H(Q)) / 2` (Lin 1991).

    It is 0 for equal distributions and ln 2 for disjoint ones.

    Args:
        left, right: log-probabilities of the same n samples, float64 (n, classes), n at least 1.
    """
    middle = np.logaddexp(left, right) - np.log(2)
    both = np.exp(left) * (left - middle) + np.exp(right) * (right - middle)
    return float(np.clip(both.sum(1) / 2, 0, np.log(2)).mean())


def weight_distance(left: Weights, right: Weights) -> float:
    """L2 norm of the difference, (D,), between two models of one architecture."""
    difference = flatten(left).astype(np.float64) - flatten(right).astype(np.float64)
    return float(np.sqrt(np.square(difference).sum()))
