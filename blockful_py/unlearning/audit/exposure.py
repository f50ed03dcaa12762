# SPDX-License-Identifier: Apache-2.0
"""Exposure: higher confidence on forgotten training samples than on similar held-out ones."""

from __future__ import annotations

import numpy as np

from blockful_py.errors import UnlearningError
from blockful_py.unlearning.audit.network import Floats


def auc(above: Floats, below: Floats) -> float:
    """Probability that a score of `above` exceeds one of `below`; ties count half (Mann and Whitney 1947).

    0.5 means that the scores do not separate the two.  NaN if a score is NaN.

    Args:
        above, below: scores, float64 (n,) and (m,).

    Raises UnlearningError: one of the two is empty.
    """
    if not (len(above) and len(below)):
        raise UnlearningError("an AUC needs samples on both sides.")
    if np.isnan(above).any() or np.isnan(below).any():
        return float("nan")
    ordered = np.sort(below)
    beaten = np.searchsorted(ordered, above, "left") + np.searchsorted(ordered, above, "right")
    return float(beaten.sum() / (2 * len(above) * len(below)))
