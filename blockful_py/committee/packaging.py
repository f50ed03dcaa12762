# SPDX-License-Identifier: Apache-2.0
"""Assigns models to blocks (the paper: a block every 15 s, of at most 1 MB)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from blockful_py.committee.drafting import NewModel
from blockful_py.committee.protocols import Clock
from blockful_py.ledger.protocols import MAX_BLOCK_MODELS


def transaction_bytes(model: NewModel) -> int:
    """Bytes of a model's publication in the call data: 8 words, and one for each reference."""
    return 32 * (8 + len(model.references))


class Packager:
    """Fills blocks in order, at least `interval` seconds apart on `clock`."""

    def __init__(self, interval: float, block_bytes: int, clock: Clock) -> None:
        self._interval = interval
        self._block_bytes = block_bytes
        self._clock = clock
        self._last: int | None = None

    def blocks(self, models: Sequence[NewModel]) -> Iterator[tuple[int, tuple[NewModel, ...]]]:
        """Yields the time (seconds) and the models of each block when it is due."""
        waiting: list[NewModel] = []
        size = 0
        for model in models:
            grown = size + transaction_bytes(model)
            if waiting and (grown > self._block_bytes or len(waiting) == MAX_BLOCK_MODELS):
                yield self._due(), tuple(waiting)
                waiting, grown = [], transaction_bytes(model)
            waiting.append(model)
            size = grown
        if waiting:
            yield self._due(), tuple(waiting)

    def _due(self) -> int:
        if self._last is not None:
            self._clock.wait_until(self._last + self._interval)
        self._last = self._clock.now()
        return self._last
