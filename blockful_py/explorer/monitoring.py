# SPDX-License-Identifier: Apache-2.0
"""Metrics and health of an explorer: its requests, the age of its index, and its readiness."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from prometheus_client import CollectorRegistry, Gauge
from starlette.types import Scope

from blockful_py.explorer.index import IndexThread
from blockful_py.monitoring.health import Health, writable
from blockful_py.monitoring.traffic import HttpTraffic

STALE_SECONDS = 60.0
"""Age in seconds from which the index counts as stale."""


class ExplorerMonitor:
    """Metrics and health of one explorer."""

    def __init__(
        self,
        registry: CollectorRegistry,
        follower: IndexThread,
        folder: Path,
        listeners: Callable[[], int],
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Registers the metrics; `listeners` returns the number of open pages that receive updates."""
        self._follower = follower
        self._clock = clock
        self._started = clock()
        self.traffic = HttpTraffic(registry, resource_of)
        self.health = Health({"index": self._behind, "store": writable(folder)})
        age = Gauge(
            "blockful_explorer_index_age_seconds",
            "Time since the index was last up to date.",
            registry=registry,
        )
        age.set_function(self._age)
        pages = Gauge("blockful_explorer_open_pages", "Open pages that receive updates.", registry=registry)
        pages.set_function(listeners)

    def _age(self) -> float:
        followed = self._follower.followed
        return self._clock() - (self._started if followed is None else followed)

    def _behind(self) -> str | None:
        if self._follower.problem is not None:
            return "the index does not follow the chains: see the log"
        if self._follower.followed is None:
            return "the record is still being read"
        age = self._age()
        return f"the index was last up to date {age:.0f} s ago" if age > STALE_SECONDS else None


def resource_of(scope: Scope) -> str:
    """Label of a request's handler: its function name, "static" or "refused"."""
    if "endpoint" not in scope:
        return "refused"
    name = getattr(scope["endpoint"], "__name__", "static")
    return str(name).lstrip("_")
