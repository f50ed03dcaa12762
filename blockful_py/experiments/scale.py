# SPDX-License-Identifier: Apache-2.0
"""The figures (a) to (l) of the paper's scalability section, simulated: throughput and latency.

(a, b) and (c, d) over the number of sequential and parallel requests; (e, f) and (g, h) over the depth;
(i, j) and (k, l) for networks and data sets.  Each model lies in a live block of its own, as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from blockful_py.simulation.constants import Constants
from blockful_py.simulation.settings import SimulationSettings
from blockful_py.simulation.summary import Figure, simulate_seeds

Paradigm = Literal["sequential", "parallel"]
REQUESTS: dict[Paradigm, tuple[int, ...]] = {
    "sequential": (100, 300, 500, 800),
    "parallel": (1_000, 3_000, 5_000, 8_000),
}
DEPTHS = (1, 2, 4, 5, 6, 8)
MEMBERS = 20
NETWORKS = ("alexnet-cifar100", "resnet18-cifar100", "alexnet-tinyimagenet", "resnet18-tinyimagenet")


@dataclass(frozen=True, slots=True)
class ScalePoint:
    """One point of two figures: the curve it lies on, x, and what was simulated there."""

    figures: str
    curve: str
    x: int
    throughput: Figure
    latency: Figure


def plan(size: float = 1.0) -> list[tuple[str, str, int, SimulationSettings]]:
    """Figures, curve, x and settings of every point; `size` scales the number of requests."""
    points = []
    paradigms: tuple[tuple[Paradigm, str, str, str], ...] = (
        ("sequential", "a, b", "e, f", "i, j"),
        ("parallel", "c, d", "g, h", "k, l"),
    )
    for paradigm, by_requests, by_depth, by_network in paradigms:
        counts = [max(1, round(size * each)) for each in REQUESTS[paradigm]]
        for consensus in ("pbft", "pow"):
            common = {"paradigm": paradigm, "consensus": consensus, "members": MEMBERS}
            points += [
                (by_requests, consensus, count, _settings(**common, requests=count)) for count in counts
            ]
            points += [
                (by_depth, consensus, depth, _settings(**common, requests=counts[0], depth=depth))
                for depth in DEPTHS
            ]
        for network in NETWORKS:
            points += [
                (by_network, network, count, _settings(paradigm=paradigm, members=MEMBERS, requests=count,
                                                       network=network))
                for count in counts
            ]  # fmt: skip
    return points


def _settings(**named: Any) -> SimulationSettings:
    return SimulationSettings(**named)


def measure(
    constants: Constants, seeds: Sequence[int], size: float, advance: Callable[[int], None]
) -> list[ScalePoint]:
    """`advance` is told of each point.  Raises SettingsError as a simulation does."""
    found = []
    for figures, curve, x, settings in plan(size):
        summary = simulate_seeds(settings, constants, seeds)
        found.append(
            ScalePoint(
                figures,
                curve,
                x,
                summary.figure(lambda one: one.throughput),
                summary.figure(lambda one: one.latency["mean"]),
            )
        )
        advance(1)
    return found


def table(points: Sequence[ScalePoint]) -> str:
    """Markdown: a row a point."""
    lines = [
        "| figures | curve | requests or depth | requests/s | s a request |",
        "|---|---|---:|---|---|",
    ]
    lines += [
        f"| {each.figures} | {each.curve} | {each.x:,} | {each.throughput} | {each.latency} |"
        for each in points
    ]
    return "\n".join(lines) + "\n"


def document(points: Sequence[ScalePoint]) -> dict[str, Any]:
    return {"members": MEMBERS, "points": [asdict(each) for each in points]}
