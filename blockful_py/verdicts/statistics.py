# SPDX-License-Identifier: Apache-2.0
"""Means, tails and bootstrap intervals over seeds and models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DRAWS = 2000
LEVEL = 0.95
TAIL = 0.05


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value and its 95 % bootstrap interval."""

    value: float
    low: float
    high: float


Counts = NDArray[np.int64]
"""Number of times that each model was drawn: (draws, models)."""


def resample(groups: Sequence[int], seed: int = 0, draws: int = DRAWS) -> Counts:
    """Two-stage bootstrap: draws groups (seeds) with replacement, then models within each group likewise.

    Models of one federation resemble each other; drawing whole groups reflects that in the interval.
    """
    stream = np.random.default_rng(seed)
    labels = np.asarray(groups)
    rows = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    counts = np.zeros((draws, len(labels)), dtype=np.int64)
    times = stream.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), size=draws)  # (draws, groups)
    for group, members in enumerate(rows):
        size = len(members)
        counts[:, members] = stream.multinomial(times[:, group] * size, np.full(size, 1 / size))
    return counts


def mean(values: Sequence[float], counts: Counts) -> Estimate:
    """Mean over models, with its interval."""
    x = np.asarray(values, dtype=np.float64)
    return estimate(float(x.mean()), _means(x, counts))


def ratio(above: Sequence[float], below: Sequence[float], counts: Counts) -> Estimate:
    """Ratio of the means of two figures of the same models; infinite if the denominator is 0."""
    x, y = np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)
    return estimate(float(_divide(x.mean(), y.mean())), _divide(_means(x, counts), _means(y, counts)))


def worse_tail(values: Sequence[float], counts: Counts) -> Estimate:
    """The value that 5 % of the models exceed."""
    x = np.asarray(values, dtype=np.float64)
    order = np.argsort(x)
    below = np.cumsum(counts[:, order], axis=1)
    at = (below >= (1 - TAIL) * below[:, -1:]).argmax(1)
    rank = int(np.ceil((1 - TAIL) * len(x))) - 1
    return estimate(float(x[order][rank]), x[order][at])


def _means(values: Floats, counts: Counts) -> Floats:
    means: Floats = (counts @ values) / counts.sum(1)
    return means


def _divide(above: Floats | float, below: Floats | float) -> Floats:
    top, bottom = np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios: Floats = np.where(bottom == 0, np.where(top == 0, 1.0, np.sign(top) * np.inf), top / bottom)
    return ratios


def estimate(value: float, drawn: Floats) -> Estimate:
    """A value with the interval of its bootstrap draws, (draws,)."""
    rest = (1 - LEVEL) / 2
    # Order statistics without interpolation keep infinite draws infinite instead of turning them into NaN.
    low, high = np.quantile(drawn, [rest, 1 - rest], method="inverted_cdf")
    return Estimate(value, float(low), float(high))
