# SPDX-License-Identifier: Apache-2.0
"""Whole simulations: what must hold of every one of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as limits
from hypothesis import strategies as st

from blockful_lab.simulation.constants import Constants
from blockful_lab.simulation.outcome import SimulationOutcome, simulate_once
from blockful_lab.simulation.settings import SimulationSettings
from blockful_py import costs
from blockful_py.errors import SettingsError
from tests.simulation.messages import decide_by_messages

CONSTANTS = Constants.load()
INTERVAL = 15.0


def outcome(seed: int = 1, **named: Any) -> SimulationOutcome:
    return simulate_once(SimulationSettings(**named), CONSTANTS, seed)


@limits(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    requests=st.integers(1, 12),
    depth=st.integers(1, 4),
    references=st.integers(1, 3),
    per_block=st.integers(1, 5),
    members=st.integers(1, 9),
    consensus=st.sampled_from(["pbft", "qbft", "pow"]),
    seed=st.integers(0, 100),
)
def test_counts_equal_the_papers_formulas(
    requests: int, depth: int, references: int, per_block: int, members: int, consensus: str, seed: int
) -> None:
    common = {"requests": requests, "depth": depth, "members": members, "consensus": consensus}
    models = requests * depth
    parallel = outcome(seed, **common, per_block=per_block)
    assert parallel.operations == parallel.formula
    assert parallel.operations == costs.expected_parallel(models, -(-models // per_block))
    sequential = outcome(seed, paradigm="sequential", **common, references=references)
    one = costs.expected_sequential(depth, references)
    assert sequential.operations == sequential.formula == sum([one] * requests, costs.Operations())


def test_the_same_seed_gives_the_same_outcome_and_another_does_not() -> None:
    named = {"requests": 20, "depth": 2, "members": 7, "rate": 0.2}
    assert outcome(3, **named) == outcome(3, **named)
    assert outcome(3, **named) != outcome(4, **named)


def test_a_sequential_model_takes_two_blocks_and_waits_for_the_one_before() -> None:
    """Archive and live chain each make it wait for a block: between one and two intervals each."""
    found = outcome(paradigm="sequential", requests=5, depth=3, members=4)
    models = 15
    assert found.chains["live"]["transactions"] == found.chains["archive"]["transactions"] == models
    assert found.chains["live"]["blocks"] == models
    assert models * INTERVAL < found.seconds < models * 4 * INTERVAL
    assert found.latency["mean"] < found.seconds


def test_stages_of_a_sequential_run_add_up_to_its_seconds() -> None:
    found = outcome(paradigm="sequential", requests=4, depth=2)
    assert sum(found.stages.values()) == pytest.approx(found.seconds)


def test_merged_requests_share_one_certificate() -> None:
    found = outcome(requests=50, depth=4, members=10)
    assert found.operations.consensus == 1
    assert [found.latency["mean"], found.latency["p95"]] == pytest.approx([found.seconds] * 2)


def test_requests_over_time_are_merged_as_they_wait() -> None:
    found = outcome(requests=200, rate=0.5, members=10)
    assert 1 < found.operations.consensus < 200
    assert found.latency["mean"] < found.seconds


def test_blocks_hold_no_more_than_their_gas_and_bytes() -> None:
    for name, most in (("block_gas", 8_000_000), ("block_bytes", 60_000)):
        found = outcome(requests=2_000, members=4, **{name: most})
        for chain in found.chains.values():
            assert chain["blocks"] > 1
            assert chain[name.removeprefix("block_")] <= chain["blocks"] * most


def test_mined_blocks_take_their_confirmations() -> None:
    """With c confirmations a transaction waits for c + 1 blocks or more on each chain."""
    found = outcome(paradigm="sequential", requests=30, consensus="pow", confirmations=12, members=8)
    each = (found.stages["archive"] + found.stages["live"]) / 60
    # The mean of 60 sums of 13 exponential intervals: a standard error of 15 sqrt(13 / 60).
    assert each == pytest.approx(13 * INTERVAL, abs=5 * INTERVAL * (13 / 60) ** 0.5 + 2)


def test_single_messages_give_the_same_run_as_phases() -> None:
    settings = SimulationSettings(paradigm="sequential", requests=10, members=7, interval=1.0)
    phases = simulate_once(settings, CONSTANTS, 1)
    single = simulate_once(settings, CONSTANTS, 1, how=decide_by_messages)
    assert single.operations == phases.operations
    assert single.seconds == pytest.approx(phases.seconds, rel=0.15)


def test_what_the_formula_and_the_count_of_energy_share() -> None:
    """Transfers are the same; a collision is made by a quorum, where the formula has all members."""
    found = outcome(requests=30, depth=2, members=9, machines="one").energy
    assert found.counted["transfers"] == pytest.approx(found.formula["transfers"])
    assert found.counted["collisions"] > 6 / 9 * found.formula["collisions"]
    assert found.counted["consensus"] > found.formula["consensus"]


@pytest.mark.parametrize(
    ("named", "reason"),
    [
        ({"members": 0}, "members must be at least 1"),
        ({"requests": 0}, "requests must be at least 1"),
        ({"chunk": 129}, "chunk must be at least 1 and at most 128, not 129"),
        ({"interval": -1.0}, "interval must be at least 0"),
        ({"requests": 10_000_000, "depth": 8}, "80,000,000 models: simulate 10,000,000 at most"),
        ({"latency": "gauss:1,2"}, "'gauss:1,2' is no distribution"),
        ({"bandwidth": "0"}, "'0' is no distribution of positive numbers"),
        ({"consensus": "pow", "interval": 0.0}, "mining takes time"),
        ({"network": "gpt"}, "no time was measured for a network 'gpt': choose from alexnet-cifar100"),
        ({"block_gas": 100_000}, "fits no block of 1,000,000 bytes and 100,000 gas: put fewer"),
    ],
)
def test_bad_settings_are_one_clear_error(named: dict[str, Any], reason: str) -> None:
    with pytest.raises(SettingsError) as caught:
        outcome(**named)
    assert reason in str(caught.value)
