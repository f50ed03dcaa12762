# SPDX-License-Identifier: Apache-2.0
"""Figures of a simulation over seeds: mean, least, most, and n."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from blockful_lab.simulation.constants import Constants
from blockful_lab.simulation.outcome import SimulationOutcome, simulate_once
from blockful_lab.simulation.settings import SimulationSettings


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure over `n` seeds."""

    mean: float
    least: float
    most: float
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Figure:
        return cls(fmean(values), min(values), max(values), len(values))

    def __str__(self) -> str:
        return f"{self.mean:,.4g} ({self.least:,.4g} to {self.most:,.4g}, n = {self.n})"


@dataclass(frozen=True, slots=True)
class SimulationSummary:
    """All seeds of one setting: throughput in requests a second, latency in seconds, energy in J."""

    settings: SimulationSettings
    outcomes: tuple[SimulationOutcome, ...]

    def figure(self, of: Callable[[SimulationOutcome], float]) -> Figure:
        return Figure.of([of(each) for each in self.outcomes])

    @property
    def figures(self) -> dict[str, Figure]:
        stages = sorted({name for each in self.outcomes for name in each.stages})
        return {
            "seconds": self.figure(lambda one: one.seconds),
            "throughput": self.figure(lambda one: one.throughput),
            **{
                f"latency {name}": self.figure(lambda one, name=name: one.latency[name])  # type: ignore[misc]
                for name in ("mean", "median", "p95")
            },
            **{
                f"stage {name}": self.figure(lambda one, name=name: one.stages.get(name, 0.0))  # type: ignore[misc]
                for name in stages
            },
            "energy": self.figure(lambda one: sum(one.energy.counted.values())),
            "energy of the paper's terms": self.figure(lambda one: sum(one.energy.formula.values())),
            "stale blocks": self.figure(lambda one: sum(each["stale"] for each in one.chains.values())),
        }

    def document(self) -> dict[str, Any]:
        return {
            "settings": asdict(self.settings),
            "figures": {name: asdict(figure) for name, figure in self.figures.items()},
            "runs": [each.document() for each in self.outcomes],
        }


def simulate_seeds(
    settings: SimulationSettings,
    constants: Constants,
    seeds: Sequence[int],
    advance: Callable[[int], None] = lambda models: None,
) -> SimulationSummary:
    """Runs each seed.  Raises SettingsError as `simulate_once` does."""
    return SimulationSummary(
        settings, tuple(simulate_once(settings, constants, seed, advance) for seed in seeds)
    )
