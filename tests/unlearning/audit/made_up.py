# SPDX-License-Identifier: Apache-2.0
"""Distributions with a known answer."""

from __future__ import annotations

import numpy as np

from blockful_py.unlearning.audit.network import Floats


def certain(label: int, count: int, classes: int = 3, of_it: float = 0.999) -> Floats:
    """Log-probabilities of `count` samples that all say one label with probability `of_it`."""
    rest = (1 - of_it) / (classes - 1)
    probabilities = np.full((count, classes), rest)
    probabilities[:, label] = of_it
    return np.log(probabilities)
