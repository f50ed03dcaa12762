# SPDX-License-Identifier: Apache-2.0
"""Metrics and health checks of a participant: finished work, queue, readiness."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from blockful_py.monitoring.health import Health, writable
from blockful_py.participant.folder import ParticipantFolder
from blockful_py.pipeline.run.chain_looks import ChainLooks
from blockful_py.pipeline.run.contracts import Contracts

TRAINING, PARTS = "training", "parts"


class ParticipantMetrics:
    """Work done since the participant was started."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.trained = Counter(
            "blockful_participant_models_trained", "Models trained and published.", registry=registry
        )
        self.parts = Counter(
            "blockful_participant_parts_made",
            "Own models replaced for requests.",
            registry=registry,
        )
        self.failed = Counter(
            "blockful_participant_work_failed", "Work that failed.", ["work"], registry=registry
        )
        self.seconds = Histogram(
            "blockful_participant_work_seconds",
            "Seconds of work that succeeded.",
            ["work"],
            registry=registry,
            buckets=(1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 14400),
        )
        self.queue = Gauge(
            "blockful_participant_queue",
            "Models that wait to be trained or replaced.",
            registry=registry,
        )

    @contextmanager
    def working(self, models: int, is_training: bool) -> Iterator[None]:
        """Counts and times the work done inside the `with` block."""
        work, begun = TRAINING if is_training else PARTS, time.perf_counter()
        try:
            yield
        except Exception:
            self.failed.labels(work).inc()
            raise
        self.seconds.labels(work).observe(time.perf_counter() - begun)
        (self.trained if is_training else self.parts).inc(models)


class ParticipantMonitor:
    """Checks the chains on a thread of its own, since the participant may be busy for hours."""

    name = "monitor"

    def __init__(
        self, folder: ParticipantFolder, contracts: Callable[[], Contracts], registry: CollectorRegistry
    ) -> None:
        """Sets up the health checks; `contracts` returns the present contracts."""
        self._folder = folder
        self._contracts = contracts
        self._looks = ChainLooks(registry)
        self.health = Health(
            {
                "chains": self._looks.reached,
                "clock": self._looks.clock_is_right,
                "store": writable(folder.run),
            },
            lambda: {"epoch": self._looks.epoch, "paused": self._folder.is_paused},
        )

    def step(self) -> None:
        """Checks the chains if a check is due.  Raises NodeError if one does not answer."""
        if self._looks.is_due:
            self._looks.look(self._contracts())
