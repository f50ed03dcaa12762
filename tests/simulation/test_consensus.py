# SPDX-License-Identifier: Apache-2.0
"""Phases by order statistics agree with every single message; both count the protocols' messages."""

from __future__ import annotations

import numpy as np
import pytest

from blockful_lab.simulation.consensus.phases import RECEIVERS, decide, handled
from blockful_lab.simulation.consensus.rules import Rule, Voting
from blockful_lab.simulation.distribution import Distribution
from blockful_lab.simulation.network import Network
from tests.simulation.messages import BlockBallot, decide_by_messages

LATENCY, BANDWIDTH = Distribution.parse("lognormal:0.05,0.5"), Distribution.parse("uniform:50,200")
SIZE, EXECUTION = 200_000.0, 0.05


def network(nodes: int, seed: int) -> Network:
    return Network.of(nodes, LATENCY, BANDWIDTH, np.random.default_rng(seed))


def rule(name: Voting, nodes: int, verify: float = 3e-4) -> Rule:
    return Rule(name, nodes, vote_bytes=200, sign=1e-4, verify=verify)


@pytest.mark.parametrize("nodes", [4, 7, 10, 100])
def test_quorums_are_those_of_the_protocols(nodes: int) -> None:
    f = (nodes - 1) // 3
    assert nodes == 3 * f + 1
    assert rule("pbft", nodes).quorum == rule("qbft", nodes).quorum == 2 * f + 1


@pytest.mark.parametrize("nodes", range(1, 60))
@pytest.mark.parametrize("name", ["pbft", "qbft"])
def test_two_quorums_share_an_honest_member(name: Voting, nodes: int) -> None:
    f, quorum = (nodes - 1) // 3, rule(name, nodes).quorum
    assert 2 * quorum - nodes >= f + 1
    assert quorum <= nodes - f


@pytest.mark.parametrize("nodes", [2, 4, 9])
def test_every_message_of_the_protocols_is_sent(nodes: int) -> None:
    for name, prepares in (("pbft", nodes - 1), ("qbft", nodes)):
        ballot = BlockBallot(network(nodes, 1), rule(name, nodes), 0, SIZE, EXECUTION)
        ballot.run()
        assert ballot.messages == rule(name, nodes).messages
        assert ballot.messages == (nodes - 1) * (1 + prepares + nodes)


@pytest.mark.parametrize("verify", [3e-4, 1e-2])
@pytest.mark.parametrize("nodes", [4, 10])
@pytest.mark.parametrize("name", ["pbft", "qbft"])
def test_phases_agree_with_single_messages(name: Voting, nodes: int, verify: float) -> None:
    """Their means differ by less than 4 standard errors and 3 %, with slow and with fast processors."""
    voting = rule(name, nodes, verify)
    phases = [decide(network(nodes, n), voting, n % nodes, SIZE, EXECUTION) for n in range(300)]
    single = [
        decide_by_messages(network(nodes, 999 + n), voting, n % nodes, SIZE, EXECUTION) for n in range(100)
    ]
    error = np.hypot(np.std(phases) / len(phases) ** 0.5, np.std(single) / len(single) ** 0.5)
    assert abs(np.mean(phases) - np.mean(single)) < 4 * error + 0.03 * np.mean(single)


def test_phases_agree_where_only_some_receivers_are_drawn() -> None:
    nodes = RECEIVERS + 8
    voting = rule("qbft", nodes)
    phases = [decide(network(nodes, n), voting, n % nodes, SIZE, EXECUTION) for n in range(200)]
    single = [decide_by_messages(network(nodes, 999 + n), voting, n, SIZE, EXECUTION) for n in range(6)]
    error = np.hypot(np.std(phases) / len(phases) ** 0.5, np.std(single) / len(single) ** 0.5)
    assert abs(np.mean(phases) - np.mean(single)) < 4 * error + 0.05 * np.mean(single)


def test_without_delays_only_the_work_is_left() -> None:
    """The leader executes, then the others, who have read its prepare by then and await one more.

    Then a quorum, the three others, await two commits each.
    """
    still = Network(Distribution("constant", (1e-12,)), np.full(4, 1e15), np.random.default_rng(1))
    voting = Rule("qbft", 4, vote_bytes=0, sign=0.01, verify=0.1)
    expected = 1 + (0.1 + 1) + 0.01 + 0.1 + 0.01 + 2 * 0.1
    assert decide_by_messages(still, voting, 0, 0, 1.0) == pytest.approx(expected)
    assert decide(still, voting, 0, 0, 1.0) == pytest.approx(expected)


def test_a_single_member_only_executes() -> None:
    assert decide(network(1, 1), rule("pbft", 1), 0, SIZE, 0.7) == 0.7
    assert decide_by_messages(network(1, 1), rule("pbft", 1), 0, SIZE, 0.7) == 0.7


def test_votes_wait_for_the_processor_in_their_order() -> None:
    assert handled(np.array([0.0, 0.0, 5.0]), 2, 1.0) == 2.0
    assert handled(np.array([0.0, 0.0, 5.0]), 3, 1.0) == 6.0
    assert handled(np.array([0.0, 1.0, 1.5]), 3, 2.0) == 6.0


def test_a_block_reaches_every_member_through_the_tree() -> None:
    net = Network(Distribution("constant", (1.0,)), np.full(100, 1e6), np.random.default_rng(1))
    arrival = net.relay(1e6, 7)
    assert arrival[7] == 0
    # 8 copies of a second each, one after the other, and a second of latency: on each of up to three levels.
    assert np.sort(arrival)[1:9] == pytest.approx([2, 3, 4, 4, 5, 5, 5, 6])
    assert arrival.max() <= 3 * 9
