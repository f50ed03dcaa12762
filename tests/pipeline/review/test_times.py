# SPDX-License-Identifier: Apache-2.0
"""A proposal whose leader's clock is an hour off is refused before anybody votes."""

from __future__ import annotations

import time

import pytest

from blockful_py.committee.proposals import ArchiveChunk
from blockful_py.errors import EarlyError
from blockful_py.pipeline.review.times import MAX_DRIFT, require_timely

HOUR = 3600


def at(seconds: int) -> tuple[ArchiveChunk, ...]:
    return (ArchiveChunk(bytes(32), seconds, ()),)


@pytest.mark.parametrize("off", [0, 60, -60, MAX_DRIFT - 60, 60 - MAX_DRIFT])
def test_clocks_differ_a_little(off: int) -> None:
    now = int(time.time())
    require_timely(at(now + off), now)


@pytest.mark.parametrize("off", [HOUR, -HOUR, 10**30])
def test_an_hour_is_told(off: int) -> None:
    now = int(time.time())
    with pytest.raises(EarlyError, match="set the clock of the machine that leads"):
        require_timely(at(max(0, now + off)), now)


def test_a_chain_that_rests_does_not_hold_its_leaders_up() -> None:
    now = int(time.time())
    require_timely(at(now), now - 24 * HOUR)


@pytest.mark.parametrize("off", [HOUR, -HOUR])
def test_the_members_own_clock_is_not_asked_where_blocks_come(
    off: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = int(time.time())
    monkeypatch.setattr(time, "time", lambda: now + off)
    require_timely(at(now), now)
