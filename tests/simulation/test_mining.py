# SPDX-License-Identifier: Apache-2.0
"""Proof of work: the rate of blocks and forks, and settled blocks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from blockful_lab.simulation.consensus.mining import Mining
from blockful_lab.simulation.distribution import Distribution
from blockful_lab.simulation.network import Network


def mining(latency: float, confirmations: int, interval: float = 15.0, nodes: int = 20) -> Mining:
    net = Network(Distribution("constant", (latency,)), np.full(nodes, 1e12), np.random.default_rng(5))
    return Mining(net, np.ones(nodes), interval, confirmations, lambda held: (held + 1, 0.0, 0.0))


def run(chain: Mining, blocks: int) -> tuple[float, list[int]]:
    """The time of the last block, and the blocks settled after each."""
    now, settled = 0.0, []
    for _ in range(blocks):
        now += chain.wait()
        settled.append(chain.find(now))
    return now, settled


def test_without_delay_there_are_no_forks_and_the_interval_is_kept() -> None:
    chain = mining(1e-9, confirmations=3)
    now, settled = run(chain, 4_000)
    assert chain.stale == 0
    assert settled == [max(0, number - 3) for number in range(1, 4_001)]
    # The mean of 4,000 exponential intervals has a standard error of 15 / sqrt(4000).
    assert now / 4_000 == pytest.approx(15, abs=5 * 15 / math.sqrt(4_000))


def test_delay_makes_forks_as_often_as_blocks_fall_within_it() -> None:
    """A block is followed within its delay by another member's with 1 - exp(-delay / interval).

    Members are one or two hops of 1.5 s from the finder: their mean delay lies in between.
    """
    chain = mining(1.5, confirmations=6)
    run(chain, 6_000)
    low, high = (1 - math.exp(-delay / 15) for delay in (1.5, 3.0))
    assert 0.7 * low < chain.stale / chain.found < 1.1 * high


def test_what_is_settled_never_goes_back() -> None:
    chain = mining(4.0, confirmations=12)
    _, settled = run(chain, 2_000)
    assert settled == sorted(settled)
    assert chain.stale > 0


def test_a_member_finds_blocks_with_its_share_of_the_power() -> None:
    net = Network(Distribution("constant", (1e-9,)), np.full(2, 1e12), np.random.default_rng(2))
    chain = Mining(net, np.array([3.0, 1.0]), 15, 1, lambda held: (held, 0.0, 0.0))
    finders = []
    now = 0.0
    for _ in range(2_000):
        now += chain.wait()
        chain.find(now)
        finders.append(int(np.argmin(chain._best.reached)))
    assert np.mean(finders) == pytest.approx(0.25, abs=0.05)
