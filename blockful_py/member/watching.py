# SPDX-License-Identifier: Apache-2.0
"""Calls a member's duties when a chain has a new block, and otherwise seldom: idle members ask for little."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence

from blockful_py.committee.service.duties import Duty
from blockful_py.errors import RunError
from blockful_py.member.office import MemberOffice

FRESH_SECONDS = 1.0
"""How long all duties go by one look at the chains."""
LOOK_SECONDS = 5.0
"""Longest time between two steps of a duty, which may wait for something else than a block."""

Blocks = tuple[str, ...]
"""Hashes of the newest blocks."""


class ChainWatch:
    """The newest settled blocks of both chains, asked for once for all duties."""

    def __init__(self, office: MemberOffice, now: Callable[[], float] = time.monotonic) -> None:
        self._office = office
        self._now = now
        self._looking = threading.Lock()
        self._blocks: Blocks = ()
        self._at = -math.inf

    def blocks(self) -> Blocks:
        """Raises RunError while there is no run, NodeError."""
        with self._looking:
            if self._now() >= self._at + FRESH_SECONDS:
                contracts = self._office.view().contracts
                followers = contracts.followers
                sides = (contracts.live,) if followers is None else (contracts.live, followers.archive)
                self._blocks = tuple(side.newest_block() for side in sides)
                self._at = self._now()
            return self._blocks


class WhenChanged:
    """A duty whose steps are made when a block is new, every LOOK_SECONDS, and again after an error."""

    def __init__(self, watch: ChainWatch, duty: Duty, now: Callable[[], float] = time.monotonic) -> None:
        self._watch = watch
        self._duty = duty
        self._now = now
        self._seen: tuple[Blocks, float] = ((), -math.inf)

    @property
    def name(self) -> str:
        return self._duty.name

    def step(self) -> None:
        """Raises as the duty does, and NodeError."""
        try:
            blocks = self._watch.blocks()
        except RunError:  # the run may come after the member
            self._duty.step()
            return
        now = self._now()
        if blocks != self._seen[0] or now >= self._seen[1] + LOOK_SECONDS:
            self._duty.step()
            self._seen = (blocks, now)


def when_changed(office: MemberOffice, duties: Sequence[Duty]) -> list[Duty]:
    """The duties of one member, by one watch."""
    watch = ChainWatch(office)
    return [WhenChanged(watch, duty) for duty in duties]
