# SPDX-License-Identifier: Apache-2.0
"""A service's latest view of its chains, for its metrics and its health."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from prometheus_client import CollectorRegistry, Gauge

from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.pipeline.run.identities import DEVELOPMENT_CHAINS

LOOK_SECONDS = 5.0
"""Seconds between two looks."""
STALE_SECONDS = 60.0
"""Age of the last look in seconds above which the chains count as unreachable."""
AHEAD_SECONDS = 60
"""Seconds by which a block must be ahead of this machine's clock to prove the clock slow."""


class ChainLooks:
    """The newest blocks of both chains and the committee's epoch, read every LOOK_SECONDS."""

    def __init__(
        self,
        registry: CollectorRegistry,
        now: Callable[[], float] = time.monotonic,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._now = now
        self._clock = clock
        self._at = -math.inf
        self._ahead = 0.0
        self.epoch = 0
        self._heads = Gauge(
            "blockful_chain_head_block", "Number of the newest block.", ["chain"], registry=registry
        )
        self._times = Gauge(
            "blockful_chain_head_timestamp_seconds",
            "Time of the newest block, since 1970.",
            ["chain"],
            registry=registry,
        )
        self._epochs = Gauge("blockful_epoch", "The committee's current epoch.", registry=registry)
        age = Gauge("blockful_chain_look_age_seconds", "Since the chains last answered.", registry=registry)
        age.set_function(lambda: self._now() - self._at)

    @property
    def is_due(self) -> bool:
        return self._now() >= self._at + LOOK_SECONDS

    def look(self, contracts: Contracts) -> None:
        """Reads both chains.  Raises NodeError if one does not answer."""
        sides = {"live": contracts.live.node}
        if contracts.followers is not None:
            sides["archive"] = contracts.archive.node
        ahead = 0.0
        for name, node in sides.items():
            block: dict[str, Any] = node.latest_block()
            at = int(block["timestamp"], 16)
            self._heads.labels(name).set(int(block["number"], 16))
            self._times.labels(name).set(at)
            if node.chain_id not in DEVELOPMENT_CHAINS:  # development chains' clocks are moved forward
                ahead = max(ahead, at - self._clock())
        self.epoch = contracts.committee.current_epoch()
        self._epochs.set(self.epoch)
        self._ahead, self._at = ahead, self._now()

    def reached(self) -> str | None:
        """Why the chains count as unreachable; None if they answered lately."""
        age = self._now() - self._at
        if math.isinf(age):
            return "its chains have not answered yet"
        return f"its chains have not answered for {age:.0f} s" if age > STALE_SECONDS else None

    def clock_is_right(self) -> str | None:
        """Why the machine's clock counts as wrong; None if no block disproves it."""
        if self._ahead <= AHEAD_SECONDS:
            return None
        return f"the newest block is {self._ahead:.0f} s ahead of this machine's clock: set the clock"
