# SPDX-License-Identifier: Apache-2.0
"""PBFT and QBFT message by message: the process of which `phases` is a summary, for small n.

Each member has one processor.  A vote that comes after its phase is over is dropped unread.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import simpy

from blockful_lab.simulation.consensus.rules import Rule
from blockful_lab.simulation.network import FAN_OUT, Network

Steps = Generator[Any, Any, None]
PREPARE, COMMIT = range(2)


class _Replica:
    """A member's state for one block."""

    def __init__(self, env: simpy.Environment, index: int) -> None:
        self.index = index
        self.processor = simpy.Resource(env)
        self.votes = [0, 0]
        self.ready = False
        self.prepared = False
        self.committed: float | None = None


class BlockBallot:
    """One block's agreement; `run` gives the seconds until a quorum has committed, and counts messages."""

    def __init__(self, network: Network, rule: Rule, leader: int, size: float, execution: float) -> None:
        self._env = simpy.Environment()
        self._network, self._rule, self._leader = network, rule, leader
        self._size, self._execution = size, execution
        self._replicas = [_Replica(self._env, index) for index in range(rule.nodes)]
        self._order = network.order(leader)
        self._decided = self._env.event()
        self.messages = 0

    def run(self) -> float:
        self._env.process(self._propose())
        self._env.run()
        times = sorted(each.committed for each in self._replicas if each.committed is not None)
        return times[self._rule.quorum - 1]

    def _propose(self) -> Steps:
        yield self._env.timeout(self._execution)
        self._replicas[self._leader].ready = True
        self._pass_on(0)
        if self._rule.proposer_prepares:
            self._broadcast(self._replicas[self._leader], PREPARE)
        self._go_on(self._replicas[self._leader])

    def _pass_on(self, place: int) -> None:
        """Sends the block to the members below a place of the tree."""
        sender = self._order[place]
        for copy in range(1, FAN_OUT + 1):
            below = place * FAN_OUT + copy
            if below < self._rule.nodes:
                sent = copy * self._size / self._network.upload[sender]
                self.messages += 1
                self._env.process(self._receive_block(below, sent + self._latency()))

    def _receive_block(self, place: int, seconds: float) -> Steps:
        yield self._env.timeout(seconds)
        self._pass_on(place)
        yield self._env.timeout(self._rule.verify + self._execution)
        replica = self._replicas[self._order[place]]
        replica.ready = True
        self._broadcast(replica, PREPARE)
        self._go_on(replica)

    def _broadcast(self, sender: _Replica, phase: int) -> None:
        network, rule = self._network, self._rule
        others = [each for each in self._replicas if each is not sender]
        for place, number in enumerate(network.rng.permutation(len(others)), start=1):
            sent = rule.sign + place * rule.vote_bytes / network.upload[sender.index]
            self.messages += 1
            self._env.process(self._receive_vote(others[number], phase, sent + self._latency()))

    def _receive_vote(self, receiver: _Replica, phase: int, seconds: float) -> Steps:
        yield self._env.timeout(seconds)
        if self._enough(receiver, phase):
            return
        with receiver.processor.request() as turn:
            yield turn
            if self._enough(receiver, phase):
                return
            download = self._rule.vote_bytes / self._network.upload[receiver.index]
            yield self._env.timeout(self._rule.verify + download)
        receiver.votes[phase] += 1
        self._go_on(receiver)

    def _enough(self, replica: _Replica, phase: int) -> bool:
        awaited = self._rule.commits_awaited
        if phase == PREPARE:
            awaited = self._rule.prepares_awaited(replica.index == self._leader)
        return replica.votes[phase] >= awaited

    def _go_on(self, replica: _Replica) -> None:
        if replica.ready and not replica.prepared and self._enough(replica, PREPARE):
            replica.prepared = True
            self._broadcast(replica, COMMIT)
        if replica.prepared and replica.committed is None and self._enough(replica, COMMIT):
            replica.committed = self._env.now

    def _latency(self) -> float:
        return float(self._network.latency.draw(self._network.rng, 1)[0])


def decide_by_messages(network: Network, rule: Rule, leader: int, size: float, execution: float) -> float:
    """Like `phases.decide`, from every single message."""
    if rule.nodes == 1:
        return execution
    return BlockBallot(network, rule, leader, size, execution).run()
