# SPDX-License-Identifier: Apache-2.0
"""Distances between two models, in their outputs and in their weights."""

from __future__ import annotations

import numpy as np

from blockful_py.learning.sums import BITS, INHERITED, OWN, SHIFT, is_sums
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
    """L2 norm of the difference, (D,), between two models of one architecture.

    Of models of sums: between their own parts `s_y` and inherited sums `T_y / 2^e_y - s_y`, in squared
    features, to float64's rounding.
    """
    vectors = [_sums(each) if is_sums(each) else flatten(each).astype(np.float64) for each in (left, right)]
    return float(np.sqrt(np.square(vectors[0] - vectors[1]).sum()))


def _sums(weights: Weights) -> Floats:
    """Own part and inherited sums of a model, in units of the own part, float64 (2 classes E,)."""
    words, shift = weights[INHERITED].cpu().numpy(), int(weights[SHIFT])
    inherited = sum(np.ldexp(word.astype(np.float64), BITS * i - shift) for i, word in enumerate(words))
    return np.concatenate([weights[OWN].cpu().numpy().astype(np.float64), inherited], axis=None)
