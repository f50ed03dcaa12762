# SPDX-License-Identifier: Apache-2.0
"""Runs one simulation and returns its figures."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from blockful_lab.simulation.chain import Ledger, MinedChain
from blockful_lab.simulation.consensus.phases import decide
from blockful_lab.simulation.constants import Constants
from blockful_lab.simulation.paradigms import Advance, SimulatedExecution, SimulatedRequest
from blockful_lab.simulation.settings import SimulationSettings
from blockful_lab.simulation.tally import Energy, energy
from blockful_lab.simulation.world import Decide, World
from blockful_py.costs import Operations


@dataclass(frozen=True, slots=True)
class SimulationOutcome:
    """One simulation.

    Attributes:
        seconds: simulated, from the first request's arrival to the end of the last.
        throughput: requests a second over that time.
        latency: mean, median and 95th percentile of a request's seconds from arrival to end.
        operations, formula: as counted, and by the paper's formula; merged requests are one.
        stages: seconds by stage, added up.
        energy: J.
        chains: blocks, transactions, bytes, gas and stale blocks of each chain.
    """

    seed: int
    seconds: float
    throughput: float
    latency: dict[str, float]
    operations: Operations
    formula: Operations
    stages: dict[str, float]
    energy: Energy
    chains: dict[str, dict[str, float]]

    def document(self) -> dict[str, Any]:
        return asdict(self)


def simulate_once(
    settings: SimulationSettings,
    constants: Constants,
    seed: int,
    advance: Advance = lambda models: None,
    how: Decide = decide,
) -> SimulationOutcome:
    """Simulates one seed; the same seed gives the same outcome.

    Args:
        advance: told of models as they are done.
        how: agreement on a block, by phases or message by message.

    Raises:
        SettingsError: the network was not measured, or no block takes a transaction.
    """
    world = World(settings, constants, seed, how)
    execution = SimulatedExecution(world, advance)
    requests: list[SimulatedRequest] = []
    world.env.process(_arrivals(world, execution, requests))
    serving = execution.parallel() if settings.paradigm == "parallel" else execution.sequential()
    world.env.process(serving)
    world.env.run(until=execution.served)
    return _outcome(world, requests, seed)


def _arrivals(
    world: World, execution: SimulatedExecution, requests: list[SimulatedRequest]
) -> Generator[Any, Any, None]:
    for _ in range(world.settings.requests):
        if world.settings.rate:
            yield world.env.timeout(float(world.rng.exponential(1 / world.settings.rate)))
        request = SimulatedRequest(world.env.now)
        requests.append(request)
        yield execution.waiting.put(request)


def _outcome(world: World, requests: list[SimulatedRequest], seed: int) -> SimulationOutcome:
    taken = np.array([request.done - request.arrived for request in requests])
    seconds = max(request.done for request in requests) - requests[0].arrived
    if isinstance(world.live, MinedChain):
        # Energy of mining: every member mines all the time, with or without transactions.
        world.tally.worked("mining", world.settings.members * seconds)
    committee = world.committee
    return SimulationOutcome(
        seed=seed,
        seconds=float(seconds),
        throughput=float(len(requests) / seconds),
        latency={
            "mean": float(taken.mean()),
            "median": float(np.median(taken)),
            "p95": float(np.quantile(taken, 0.95)),
        },
        operations=world.tally.operations,
        formula=world.tally.formula,
        stages=dict(world.tally.stages),
        energy=energy(
            world.tally,
            world.constants,
            committee.members,
            world.work.parameters,
            committee.collision_seconds(),
            committee.consensus_seconds(),
        ),
        chains={"live": _chain(world.live), "archive": _chain(world.archive)},
    )


def _chain(chain: Ledger) -> dict[str, float]:
    stale = chain.mining.stale if isinstance(chain, MinedChain) else 0
    return {
        "blocks": chain.blocks,
        "transactions": chain.transactions,
        "bytes": chain.bytes,
        "gas": chain.gas,
        "stale": stale,
        "most_waiting": chain.peak,
    }
