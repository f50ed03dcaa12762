# SPDX-License-Identifier: Apache-2.0
"""Draws of expensive random quantities: fresh ones first, then one of those at random."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import numpy as np

Drawn = TypeVar("Drawn")
FRESH = 64
"""Draws of a kind before they repeat: their mean is within 1/8 of the spread."""


class DrawPool(Generic[Drawn]):
    """Remembers up to `FRESH` draws of each kind."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._known: dict[Hashable, list[Drawn]] = defaultdict(list)

    def draw(self, kind: Hashable, fresh: Callable[[], Drawn]) -> Drawn:
        known = self._known[kind]
        if len(known) < FRESH:
            known.append(fresh())
            return known[-1]
        return known[int(self._rng.integers(FRESH))]
