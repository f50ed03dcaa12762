# SPDX-License-Identifier: Apache-2.0
"""Feature maps that never saw any data: whole numbers from 0 to 255 of one sample, the same everywhere.

Filters follow from SHAKE-256 (FIPS 202).  All products and sums are of whole numbers below 2^53 in float64,
so they are exact in any order; what rounds is one IEEE 754 operation an element.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from hashlib import shake_256
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

TOP = 255
"""Largest feature, and the constant feature."""

MOST_FEATURES = 4096
SIDE = 5
"""Height and width of a filter, in pixels."""

CHUNK = 256
"""Images whose responses are in memory at once."""

LIMIT, LEVELS = 4.0, 32.0
"""A table's numbers are cut off at +-LIMIT and rounded to 1 / LEVELS."""

Array = NDArray[np.float64]
FeatureMap = Callable[[Array], Array]
"""Features, float64 (n, count), of samples, float64 (n, ...)."""


def feature_map(shape: tuple[int, ...], count: int) -> FeatureMap:
    """The map for inputs of a shape, (channels, height, width) or (numbers,), to `count` features.

    Raises ValueError: the count or the shape does not fit.
    """
    if not 0 < count <= MOST_FEATURES:
        raise ValueError(f"features must be from 1 to {MOST_FEATURES}, not {count}")
    return TableFeatures(math.prod(shape), count) if len(shape) == 1 else ImageFeatures(shape, count)


class ImageFeatures:
    """Random convolutions: responses beyond a threshold, of either sign, averaged in each cell of a grid.

    An image is stretched to 0 to 255 over all its channels.  Filters have 5x5 whole numbers with mean 0.  The
    grid is 2x2 up to 256 features, else 4x4.
    """

    def __init__(self, shape: tuple[int, ...], count: int) -> None:
        channels, *sides = shape
        self._grid = 2 if count <= 256 else 4
        filters, rest = divmod(count, 2 * self._grid**2)
        if rest or min(sides) < self._grid:
            raise ValueError(
                f"features must be a multiple of {2 * self._grid**2}, not {count}, and images at least "
                f"{self._grid} pixels high and wide"
            )
        weights = _drawn("filters", channels * SIDE**2, filters) % 15 - 7
        weights = weights * len(weights) - weights.sum(0)
        self._filters = weights.astype(np.float64)  # (C 25, filters)
        self._scale = 256 / (np.sqrt((self._filters**2).sum(0)) * TOP)
        self._thresholds = (_drawn("thresholds", filters) % 32).astype(np.float64)
        self._edges = [[side * i // self._grid for i in range(self._grid + 1)] for side in sides]

    def __call__(self, x: Array) -> Array:
        flat = x.reshape(len(x), math.prod(x.shape[1:]))
        low, high = flat.min(1, keepdims=True), flat.max(1, keepdims=True)
        stretched = np.rint((flat - low) / np.where(high > low, high - low, 1.0) * TOP).reshape(x.shape)
        parts = [self._some(stretched[i : i + CHUNK]) for i in range(0, len(x), CHUNK)]
        return np.concatenate(parts) if parts else np.zeros((0, 2 * self._grid**2 * len(self._scale)))

    def _some(self, pixels: Array) -> Array:
        margin = SIDE // 2
        framed = np.pad(pixels, ((0, 0), (0, 0), (margin, margin), (margin, margin)))
        windows = np.lib.stride_tricks.sliding_window_view(framed, (SIDE, SIDE), (2, 3))
        n, _, height, width, _, _ = windows.shape
        patches = windows.transpose(0, 2, 3, 1, 4, 5).reshape(-1, len(self._filters))
        both = _beyond(np.floor((patches @ self._filters) * self._scale), self._thresholds)
        both = both.reshape(n, height, width, -1)
        rows, columns = (list(pairwise(edges)) for edges in self._edges)
        cells = [
            np.floor(both[:, top:end, left:right].sum((1, 2)) / ((end - top) * (right - left)))
            for top, end in rows
            for left, right in columns
        ]
        capped: Array = np.minimum(np.concatenate(cells, 1), TOP)
        return capped


class TableFeatures:
    """Random combinations of a row's standardised numbers, beyond a threshold, of either sign."""

    def __init__(self, numbers: int, count: int) -> None:
        if count % 2:
            raise ValueError(f"features must be even, not {count}")
        self._weights = (_drawn("rows", numbers, count // 2) % 15 - 7).astype(np.float64)
        norms = np.sqrt((self._weights**2).sum(0))
        self._scale = 2 / np.where(norms > 0, norms, 1.0)
        self._thresholds = (_drawn("thresholds", count // 2) % 32).astype(np.float64)

    def __call__(self, x: Array) -> Array:
        levels = np.rint(np.clip(x, -LIMIT, LIMIT) * LEVELS)
        responses = np.floor((levels @ self._weights) * self._scale)
        capped: Array = np.minimum(_beyond(responses, self._thresholds), TOP)
        return capped


def _beyond(responses: Array, thresholds: Array) -> Array:
    """Responses (n, f) above the thresholds (f,) and below their negatives: (n, 2 f), from 0."""
    both: Array = np.maximum(np.concatenate([responses - thresholds, -responses - thresholds], 1), 0)
    return both


def _drawn(purpose: str, *shape: int) -> NDArray[np.int64]:
    """Pseudorandom whole numbers below 2^16 that the purpose and the shape determine."""
    bytes_ = shake_256(f"blockful-features/1 {purpose} {shape}".encode()).digest(2 * math.prod(shape))
    return np.frombuffer(bytes_, "<u2").astype(np.int64).reshape(shape)
