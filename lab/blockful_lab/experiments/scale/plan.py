# SPDX-License-Identifier: Apache-2.0
"""Curves, points and settings of the figures (a) to (l) in the paper's scalability section.

(a, b) and (c, d) over the number of sequential and parallel requests; (e, f) and (g, h) over the depth;
(i, j) and (k, l) for networks and data sets.  Each model lies in a live block of its own, as in the paper.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from blockful_lab.simulation.settings import SimulationSettings

Mode = Literal["sequential", "parallel"]
REQUESTS: dict[Mode, tuple[int, ...]] = {
    "sequential": (100, 300, 500, 800),
    "parallel": (1_000, 3_000, 5_000, 8_000),
}
DEPTHS = (1, 2, 4, 5, 6, 8)
MEMBERS = 20
"""Members.  The paper gives no number, nor the network, samples or epochs of (a) to (h)."""
PBFT, POW = "pbft", "pow"
NETWORKS = ("alexnet-cifar100", "resnet18-cifar100", "alexnet-tinyimagenet", "resnet18-tinyimagenet")
PANELS: dict[tuple[str, Mode], str] = {
    ("requests", "sequential"): "ab",
    ("requests", "parallel"): "cd",
    ("depth", "sequential"): "ef",
    ("depth", "parallel"): "gh",
    ("networks", "sequential"): "ij",
    ("networks", "parallel"): "kl",
}
"""Of throughput and of latency."""


@dataclass(frozen=True, slots=True)
class PlannedPoint:
    """A point of two panels, such as "ab": its curve, and the number of requests or the depth as `x`."""

    panels: str
    curve: str
    x: int
    settings: SimulationSettings


def plan(size: float = 1.0) -> tuple[PlannedPoint, ...]:
    """All points; `size` scales the numbers of requests."""
    return tuple(point for mode in REQUESTS for point in _of(mode, size))


def _of(mode: Mode, size: float) -> Iterator[PlannedPoint]:
    counts = [max(1, round(size * each)) for each in REQUESTS[mode]]
    base = SimulationSettings(paradigm=mode, members=MEMBERS)
    pow_base = replace(base, consensus="pow")
    for curve, settings in ((PBFT, base), (POW, pow_base)):
        for count in counts:
            yield PlannedPoint(PANELS["requests", mode], curve, count, replace(settings, requests=count))
        for depth in DEPTHS:
            changed = replace(settings, requests=counts[0], depth=depth)
            yield PlannedPoint(PANELS["depth", mode], curve, depth, changed)
    for network in NETWORKS:
        for count in counts:
            changed = replace(base, requests=count, network=network)
            yield PlannedPoint(PANELS["networks", mode], network, count, changed)
