# SPDX-License-Identifier: Apache-2.0
"""A round of the committee: the leader asks members, each works and answers (committee/polling.py)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from blockful_lab.simulation.consensus.phases import handled
from blockful_lab.simulation.network import Network

GRACE = 1.0
"""Least extra seconds for members after enough have answered, besides as long again."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question to `asked` members, of whom `needed` have to answer.

    Attributes:
        out, back: bytes to and from each member.
        fetched: bytes that each member fetches from storage first.
        work: s of each member's processor.
        leader: s of the leader's processor for each answer.
    """

    asked: int
    needed: int
    out: float = 200.0
    back: float = 200.0
    fetched: float = 0.0
    work: float = 0.0
    leader: float = 0.0

    @property
    def processor(self) -> float:
        """Seconds of all processors together."""
        return self.asked * (self.work + self.leader)

    @property
    def bytes(self) -> float:
        return self.asked * (self.out + self.back + self.fetched)


def round_seconds(question: Question, network: Network | None) -> float:
    """Seconds of a round.  Without a network, members answer in turn on one processor.

    The leader has all answers, or stops at 2 t + `GRACE`, t the time of the last needed answer.
    """
    if network is None:
        return question.processor
    rng, upload = network.rng, network.upload
    chosen = np.arange(network.nodes)
    if question.asked < network.nodes:
        chosen = rng.choice(network.nodes, question.asked, replace=False)
    own = upload[chosen]
    leader = upload[0]
    copies = rng.permutation(question.asked) + 1
    received = np.maximum(copies * question.out / leader, question.out / own)
    received += network.latency.draw(rng, question.asked)
    answered = received + question.fetched / own + question.work + question.back / own
    answered += network.latency.draw(rng, question.asked)
    arrivals = np.sort(answered)
    work = question.leader + question.back / leader
    enough = handled(arrivals, question.needed, work)
    return min(handled(arrivals, question.asked, work), 2 * enough + GRACE)
