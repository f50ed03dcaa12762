# SPDX-License-Identifier: Apache-2.0
"""Measured errors of the simulator, simulated time over real time less one: docs/reference/simulation.md."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MeasuredError:
    """Errors of some real runs.

    Attributes:
        runs: their setting.
        least, most: of the errors, as shares.
        n: number of runs.
    """

    runs: str
    least: float
    most: float
    n: int

    def __str__(self) -> str:
        return f"{100 * self.least:+.0f} to {100 * self.most:+.0f} %, n = {self.n}, {self.runs}"


MEASURED = (
    MeasuredError("committee and chains in one process, 4 models, processor time", -0.232, 0.049, 12),
    MeasuredError("two Ganache devnets, 2 to 32 models", -0.64, 0.04, 16),
    MeasuredError("two Ganache devnets, 250 to 2,000 models", 1.58, 2.99, 4),
)
"""The first by `python -m benchmarks.simulation`, the others by `blockful experiment scale`."""
