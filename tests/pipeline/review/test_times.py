# SPDX-License-Identifier: Apache-2.0
"""Proposals that fit another moment are refused before anybody votes, and without an alarm."""

from __future__ import annotations

import time

import pytest

from blockful_py.committee.proposals import ArchiveChunk
from blockful_py.errors import EarlyError, RefusedError
from blockful_py.pipeline.review.times import MAX_DRIFT, require_timely, review_withdrawal
from tests.record.test_request_state import ADMITTED, BLOCKS, START, status

HOUR = 3600


def at(seconds: int) -> tuple[ArchiveChunk, ...]:
    return (ArchiveChunk(bytes(32), seconds, ()),)


@pytest.mark.parametrize("off", [0, 60, -60, MAX_DRIFT - 60, 60 - MAX_DRIFT])
def test_clocks_differ_a_little(off: int) -> None:
    """Nothing is raised by drifts below `MAX_DRIFT`."""
    now = int(time.time())
    require_timely(at(now + off), now)


@pytest.mark.parametrize("off", [HOUR, -HOUR, 10**30])
def test_an_hour_is_told(off: int) -> None:
    now = int(time.time())
    with pytest.raises(EarlyError, match="set the clock of the machine that leads"):
        require_timely(at(max(0, now + off)), now)


def test_a_chain_that_rests_does_not_hold_its_leaders_up() -> None:
    """A newest block of yesterday refuses nobody whose clock is right."""
    now = int(time.time())
    require_timely(at(now), now - 24 * HOUR)


@pytest.mark.parametrize("off", [HOUR, -HOUR])
def test_the_members_own_clock_is_not_asked_where_blocks_come(
    off: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A member whose own clock is an hour off refuses nothing that fits the newest block."""
    now = int(time.time())
    monkeypatch.setattr(time, "time", lambda: now + off)
    require_timely(at(now), now)


def test_a_withdrawal_is_early_by_a_little_or_wrong() -> None:
    """A leader's node may be ahead of a member's by some blocks, and not by most of an owner's time."""
    node = START["a"].node
    with pytest.raises(EarlyError, match="still has time"):
        review_withdrawal([node], status(now=ADMITTED + BLOCKS))
    with pytest.raises(RefusedError, match="still has time") as wrong:
        review_withdrawal([node], status(now=ADMITTED + 1))
    assert not isinstance(wrong.value, EarlyError)
    review_withdrawal([node], status(now=ADMITTED + BLOCKS + 1))
