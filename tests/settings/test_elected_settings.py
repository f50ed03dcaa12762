# SPDX-License-Identifier: Apache-2.0
"""Settings of an elected committee become the contract's rules; invalid rules are named."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockful_py.chain.ether import format_ether, parse_ether
from blockful_py.chain.sortition import Parameters
from blockful_py.errors import SettingsError
from blockful_py.pipeline.run.contracts import rules_of
from blockful_py.settings import Settings
from tests.federations import small

POOL = tuple(f"http://127.0.0.1:{7001 + number}" for number in range(5))


def elected(**changes: Any) -> Settings:
    return small(committee={"roster": "elected", "members": POOL, **changes})


def test_the_defaults_are_the_contracts() -> None:
    assert rules_of(elected().committee) == Parameters(seats=4)


def test_every_rule_can_be_set_and_a_small_committee_has_a_small_minimum() -> None:
    rules = dict.fromkeys(("credited_votes", "attempts", "epoch_length", "commit_period"), 7)
    found = rules_of(elected(election=rules, size=3).committee)
    assert found == Parameters(seats=3, minimum=3, **rules)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"size": 6}, "lists 5 URLs, 6 different are expected"),
        ({"members": (POOL[0],) * 5}, "different are expected"),
        ({"unanimous": True}, "leave committee.unanimous out"),
        ({"threshold": 1}, "it is from 2, more than may be faulty, to 3"),
        ({"threshold": 4}, "it is from 2, more than may be faulty, to 3"),
        ({"election": {"minimum": 5}}, "does not fit a committee of 4"),
        ({"election": {"max_candidates": 3}}, "does not fit a committee of 4"),
        ({"election": {"forfeit": 2 * 10**18}}, "does not fit a committee of 4"),
        ({"election": {"commit_period": 0}}, "committee.election.commit_period"),
        ({"election": {"min_trust": 500_001}}, "committee.election.min_trust"),
        ({"election": {"seats": 4}}, "unknown setting"),
    ],
)
def test_what_does_not_fit_is_named(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        elected(**changes)


@given(st.integers(0, 10**30 - 1))
def test_amounts_are_read_as_they_are_written(wei: int) -> None:
    assert parse_ether(format_ether(wei)) == wei


@pytest.mark.parametrize(
    "text", ["", "-1", "1e3", "1.", ".5", "0x1", "1,5", "1.0000000000000000001", "\u0661"]
)
def test_what_is_no_amount(text: str) -> None:
    with pytest.raises(SettingsError, match="not an amount of ether"):
        parse_ether(text)
