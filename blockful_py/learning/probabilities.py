# SPDX-License-Identifier: Apache-2.0
"""A softmax with the same bits on every processor.

In libraries, exp and sum depend on the vector unit.  Here each operation is a single sum, product or quotient
of float64 numbers, which IEEE 754 fixes, or a sum that is exact in any order.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

HALVINGS = 6
"""Number of halvings of x: exp(x) is computed as exp(x / 2^6)^(2^6)."""

COEFFICIENTS = tuple(1 / math.factorial(k) for k in range(12, -1, -1))
"""Taylor coefficients of exp, highest first; the remainder is below 1e-12 on [-5/8, 0]."""

LOWEST = -40.0
"""Minimum difference from the largest logit; smaller ones are raised to it, as exp(-40) < 1e-17."""

RESOLUTION = 2.0**-40
"""Step to which exp is rounded."""

SHIFT = 1.5 * 2.0**12
"""Adding and subtracting SHIFT rounds to RESOLUTION; 2^12 such multiples in [0, 1] have an exact sum."""


def softmax(logits: Tensor) -> Tensor:
    """Probabilities, float64 (..., classes), with an error below 1e-11.

    Args:
        logits: finite, floating point (..., classes), of at most 2^12 classes.
    """
    x = (logits.double() - logits.amax(-1, True)).clamp_(min=LOWEST).mul_(0.5**HALVINGS)
    y = torch.full_like(x, COEFFICIENTS[0])
    for coefficient in COEFFICIENTS[1:]:
        y.mul_(x).add_(coefficient)
    for _ in range(HALVINGS):
        y.mul_(y)
    y.add_(SHIFT).sub_(SHIFT)
    return y.div_(y.sum(-1, True))
