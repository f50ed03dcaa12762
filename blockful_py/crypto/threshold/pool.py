# SPDX-License-Identifier: Apache-2.0
"""Nonce pairs that are generated in advance, so that round 1 takes no time.

They exist in the memory of one process: they are lost when it ends, and a fork of it has none.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from blockful_py.types import Point


@dataclass(frozen=True, slots=True)
class NoncePair:
    """(d, e), secret, and its commitment (dG, eG)."""

    secret: tuple[int, int] = field(repr=False)
    points: tuple[Point, Point]


class NoncePool:
    """Unused nonce pairs; taking them removes them.  Several threads may use it."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._pairs: deque[NoncePair] = deque()
        self._process = os.getpid()

    def add(self, pairs: Iterable[NoncePair]) -> None:
        with self._turn:
            self._pairs.extend(pairs)

    def take(self, count: int) -> list[NoncePair]:
        """Removes and returns `count` pairs, or all where there are fewer; none in a fork of the process."""
        with self._turn:
            if os.getpid() != self._process:
                return []
            return [self._pairs.popleft() for _ in range(min(count, len(self._pairs)))]

    def __len__(self) -> int:
        return len(self._pairs)
