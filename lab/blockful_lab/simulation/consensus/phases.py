# SPDX-License-Identifier: Apache-2.0
"""The phases of PBFT and QBFT by order statistics: n^2 messages from n draws a receiver.

A receiver goes on when it has handled the q-th of the votes that reach it.  For up to `RECEIVERS` receivers
the arrival of every vote is drawn and sorted; the others take the time of one of them at random.
"""

from __future__ import annotations

import numpy as np

from blockful_lab.simulation.consensus.rules import Rule
from blockful_lab.simulation.distribution import Floats
from blockful_lab.simulation.network import Network

RECEIVERS = 32


def decide(network: Network, rule: Rule, leader: int, size: float, execution: float) -> float:
    """Seconds from a block's proposal until a quorum of members has committed it.

    `size`: bytes of the block.  `execution`: s in which a member executes it; the leader does so first.
    """
    if rule.nodes == 1:
        return execution
    received = execution + network.relay(size, leader)
    ready = received + rule.verify + execution
    ready[leader] = execution
    prepared = _phase(network, rule, ready, leader, prepares=True)
    committed = _phase(network, rule, prepared, leader, prepares=False)
    return float(np.partition(committed, rule.quorum - 1)[rule.quorum - 1])


def _phase(network: Network, rule: Rule, ready: Floats, leader: int, prepares: bool) -> Floats:
    """Seconds, (n,), when each member has its awaited votes, not before it is `ready` itself."""
    n = rule.nodes
    receivers = np.arange(n)
    if n > RECEIVERS:
        rest = network.rng.choice(n - 1, RECEIVERS - 1, replace=False)
        receivers = np.concatenate(([leader], rest + (rest >= leader)))
    signed = ready + rule.sign
    places = network.rng.integers(1, n, (len(receivers), n))
    arrival = signed + places * rule.vote_bytes / network.upload
    arrival += network.latency.draw(network.rng, (len(receivers), n))
    arrival[np.arange(len(receivers)), receivers] = np.inf
    if prepares and not rule.proposer_prepares:
        arrival[:, leader] = np.inf
    done = ready[receivers].copy()
    handling = rule.verify + rule.vote_bytes / network.upload[receivers]
    awaited = np.full(len(receivers), rule.commits_awaited)
    if prepares:
        awaited[:] = rule.prepares_awaited(False)
        awaited[receivers == leader] = rule.prepares_awaited(True)
    for row, (votes, work) in enumerate(zip(awaited, handling, strict=True)):
        if votes:
            done[row] = max(done[row], handled(np.sort(arrival[row]), int(votes), float(work)))
    whole: Floats = ready.copy()
    if len(receivers) < n:
        whole = np.maximum(ready, network.rng.choice(done[1:], n))
    whole[receivers] = done
    return whole


def handled(arrivals: Floats, votes: int, work: float) -> float:
    """Time at which one processor has handled the first `votes` arrivals, `work` seconds each, in order.

    max over k <= q of A_(k) + (q - k + 1) w
    """
    first = arrivals[:votes]
    return float(np.max(first + work * np.arange(votes, 0, -1)))
