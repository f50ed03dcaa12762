# SPDX-License-Identifier: Apache-2.0
"""The chains and the committee of one simulation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import simpy

from blockful_lab.simulation.certification import Certification, SimulatedCommittee
from blockful_lab.simulation.chain import BlockLimits, Ledger, MinedChain, VotedChain
from blockful_lab.simulation.consensus.mining import Mining
from blockful_lab.simulation.consensus.phases import decide
from blockful_lab.simulation.consensus.rules import Rule
from blockful_lab.simulation.constants import Constants
from blockful_lab.simulation.distribution import Distribution
from blockful_lab.simulation.learning import LearningWork
from blockful_lab.simulation.network import Network
from blockful_lab.simulation.pool import DrawPool
from blockful_lab.simulation.settings import SimulationSettings
from blockful_lab.simulation.tally import SimulationTally

Decide = Callable[[Network, Rule, int, float, float], float]


class VotingMembers:
    """Agreement on the blocks of a chain by PBFT or QBFT."""

    def __init__(
        self, network: Network, rule: Rule, execution: float, tally: SimulationTally, how: Decide = decide
    ) -> None:
        """Seconds of `execution` are for a unit of gas; `how` is by phases or message by message."""
        self._network, self._rule, self._execution, self._how = network, rule, execution, how
        self._tally = tally
        self._pool: DrawPool[float] = DrawPool(network.rng)

    def decide(self, block: int, size: float, gas: float) -> float:
        rule = self._rule
        executing = gas * self._execution
        votes = rule.messages - (rule.nodes - 1)
        self._tally.message_bytes += (rule.nodes - 1) * size + votes * rule.vote_bytes
        handling = votes * rule.verify + 2 * rule.nodes * rule.sign
        self._tally.worked("blocks", rule.nodes * executing + handling)

        def fresh() -> float:
            return self._how(self._network, rule, rule.leader(block), size, executing)

        return self._pool.draw((round(size), round(gas)), fresh)


class World:
    """Everything of one simulation that its requests share."""

    def __init__(
        self, settings: SimulationSettings, constants: Constants, seed: int, how: Decide = decide
    ) -> None:
        self.settings, self.constants = settings, constants
        self.rng = np.random.default_rng(seed)
        self.env = simpy.Environment()
        self.tally = SimulationTally()
        self.work = LearningWork.of(settings, constants)
        latency, bandwidth = Distribution.parse(settings.latency), Distribution.parse(settings.bandwidth)
        self.network = Network.of(settings.members, latency, bandwidth, self.rng)
        self.alone = settings.machines == "one"
        pool: DrawPool[Certification] = DrawPool(self.rng)
        self.committee = SimulatedCommittee(
            settings.members, None if self.alone else self.network, constants, pool
        )
        self._how = how
        self.live, self.archive = self._chain(), self._chain()

    def _chain(self) -> Ledger:
        settings, at = self.settings, self.constants.at
        limits = BlockLimits(settings.interval, settings.block_bytes, settings.block_gas)
        if settings.consensus == "pow":
            chain = MinedChain(self.env, limits, at("evm.gas"))
            power = Distribution.parse(settings.power).draw(self.rng, settings.members)
            chain.mine(Mining(self.network, power, settings.interval, settings.confirmations, chain.pack))
            return chain
        rule = Rule(
            settings.consensus,
            1 if self.alone else settings.members,
            at("vote.bytes"),
            at("signature.sign"),
            at("signature.verify"),
        )
        network = Network(self.network.latency, self.network.upload[: rule.nodes], self.rng)
        return VotedChain(
            self.env, limits, VotingMembers(network, rule, at("evm.gas"), self.tally, self._how)
        )
