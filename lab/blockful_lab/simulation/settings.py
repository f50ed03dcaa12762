# SPDX-License-Identifier: Apache-2.0
"""Settings of a simulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from blockful_lab.simulation.distribution import Distribution
from blockful_py.errors import SettingsError
from blockful_py.settings.section import Count, NonNegative, Range, Section

MOST_MODELS = 10_000_000


@dataclass(frozen=True)
class SimulationSettings(Section):
    """Settings of a simulation.

    Each request starts at a model of its own, from which a chain of `depth` inherits.

    Attributes:
        paradigm: "parallel" merges the requests that wait into one certificate; "sequential" has one for each
            model, one request after the other.
        consensus: how members agree on blocks of both chains.
        members: of the committee, who also make the blocks.
        requests: number of them.
        rate: requests a second, at random (Poisson); all at the beginning if 0.
        depth: models of a request, its start included (K of the paper is requests times depth).
        references: that the owner of a model fetches before it retrains (N of the paper).
        per_block: models of a live block that are changed together (K / L of the paper).
        network: of the models; sets |S| and the time of a sample pass.
        samples: |D|, that an owner trains on.
        epochs, start_epochs: of retraining a model, and of unlearning a start in the parallel paradigm.
        claim_samples: test samples on which a new model's claims are measured.
        interval: s between blocks; 0 makes a block at once.
        block_bytes, block_gas: of a block.
        chunk: models changed or archived in one transaction.
        confirmations: blocks on top that settle a mined block.
        latency: s of a message, one way.
        bandwidth: Mbit/s of a member, up and down.
        power: hash power of a member, in any unit.
        machines: "own" for each member, or "one" processor and no network for all, as in a laboratory run.
    """

    paradigm: Literal["parallel", "sequential"] = "parallel"
    consensus: Literal["pbft", "qbft", "pow"] = "pbft"
    members: Annotated[int, Range(ge=1, le=100_000)] = 4
    requests: Count = 100
    rate: NonNegative = 0.0
    depth: Annotated[int, Range(ge=1, le=10_000)] = 1
    references: Annotated[int, Range(ge=1, le=1_000)] = 1
    per_block: Annotated[int, Range(ge=1, le=128)] = 1
    network: str = "cnn-digits"
    samples: Count = 500
    epochs: Count = 10
    start_epochs: Count = 1
    claim_samples: Count = 100
    interval: NonNegative = 15.0
    block_bytes: Count = 1_000_000
    block_gas: Count = 30_000_000
    chunk: Annotated[int, Range(ge=1, le=128)] = 100
    confirmations: Annotated[int, Range(ge=1, le=100)] = 12
    latency: str = "lognormal:0.05,0.5"
    bandwidth: str = "1000"
    power: str = "1"
    machines: Literal["own", "one"] = "own"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("latency", "bandwidth", "power"):
            Distribution.parse(getattr(self, name))
        if self.models > MOST_MODELS:
            raise SettingsError(
                f"{self.requests:,} requests of {self.depth:,} models are {self.models:,} models: simulate "
                f"{MOST_MODELS:,} at most."
            )
        if self.consensus == "pow" and not self.interval:
            raise SettingsError("mining takes time: give an interval above 0 with pow.")

    @property
    def models(self) -> int:
        """K, of all requests."""
        return self.requests * self.depth
