# SPDX-License-Identifier: Apache-2.0
"""The accuracy up to which a model is no better than chance."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def chance_level(labels: Tensor) -> float | None:
    """What naming the commonest class can reach on n samples: `q + 2 sqrt(q (1 - q) / n)`, q its share.

    With k classes equally common, q is 1 / k.  None where that reaches 1, as for a single class.

    Args:
        labels: int64 (n,), n at least 1.
    """
    count = len(labels)
    share = int(torch.bincount(labels).max()) / count
    level = share + 2 * math.sqrt(share * (1 - share) / count)
    return level if level < 1 else None
