# SPDX-License-Identifier: Apache-2.0
"""Calls a member's duties on new blocks and otherwise seldom, so that idle members send few requests."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from blockful_py.committee.service.duties import Duty
from blockful_py.errors import RunError
from blockful_py.member.office import MemberOffice

FRESH_SECONDS = 1.0
"""Time for which one look at the chains serves all duties."""
LOOK_SECONDS = 5.0
"""Maximum time between two steps of a duty, which may wait for other events than blocks."""

Blocks = tuple[str, ...]
"""Hashes of the newest blocks."""


class ChainWatch:
    """The newest settled blocks of both chains, read once for all duties."""

    def __init__(self, office: MemberOffice, now: Callable[[], float] = time.monotonic) -> None:
        self._office = office
        self._now = now
        self._looking = threading.Lock()
        self._blocks: Blocks = ()
        self._at = -math.inf

    def one_look(self) -> AbstractContextManager[None]:
        """Has this thread read the chains as of one block each.  Raises as `blocks`."""
        return self._office.one_look()

    def blocks(self) -> Blocks:
        """The newest blocks.  Raises NodeError, and RunError while the run does not exist."""
        with self._looking:
            if self._now() >= self._at + FRESH_SECONDS:
                contracts = self._office.view().contracts
                followers = contracts.followers
                sides = (contracts.live,) if followers is None else (contracts.live, followers.archive)
                self._blocks = tuple(side.newest_block() for side in sides)
                self._at = self._now()
            return self._blocks


class WhenChanged:
    """A duty that steps on new blocks, every LOOK_SECONDS, and again after an error."""

    def __init__(self, watch: ChainWatch, duty: Duty, now: Callable[[], float] = time.monotonic) -> None:
        self._watch = watch
        self._duty = duty
        self._now = now
        self._seen: tuple[Blocks, float] = ((), -math.inf)

    @property
    def name(self) -> str:
        return self._duty.name

    def step(self) -> None:
        """Steps the duty if it is due.  Raises the errors of the duty, and NodeError."""
        try:
            blocks = self._watch.blocks()
        except RunError:  # the run may come after the member
            self._duty.step()
            return
        now = self._now()
        if blocks != self._seen[0] or now >= self._seen[1] + LOOK_SECONDS:
            with self._watch.one_look():
                self._duty.step()
            self._seen = (blocks, now)


def when_changed(office: MemberOffice, duties: Sequence[Duty]) -> list[Duty]:
    """The duties of one member, with one watch."""
    watch = ChainWatch(office)
    return [WhenChanged(watch, duty) for duty in duties]
