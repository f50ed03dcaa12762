# SPDX-License-Identifier: Apache-2.0
"""The highest accuracy that chance explains."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def chance_level(labels: Tensor) -> float | None:
    """Accuracy that guessing the commonest class can reach: `q + 2 sqrt(q (1 - q) / n)`.

    q is the class's share of the n samples; with k equally common classes, q is 1 / k.  Returns None if the
    result reaches 1, as for a single class.

    Args:
        labels: int64 (n,), n at least 1.
    """
    count = len(labels)
    share = int(torch.bincount(labels).max()) / count
    level = share + 2 * math.sqrt(share * (1 - share) / count)
    return level if level < 1 else None
