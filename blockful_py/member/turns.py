# SPDX-License-Identifier: Apache-2.0
"""Decides when it is a member's turn to lead a request."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

from blockful_py.member.finishing import rank
from blockful_py.member.leads import LeaderActivity
from blockful_py.types import Bytes32

PATIENCE = 20
"""Maximum stall times that one leader's questions delay the next leader."""


@dataclass(frozen=True, slots=True)
class _Waited:
    """Time (seconds) of a request's last progress, and of this member's last futile lead."""

    progress: Hashable
    since: float
    tried: float = -math.inf


class Turns:
    """The turns of one member.

    A member of rank r leads after r stall times without progress: no step of the request on the chains, and
    no leader's question (`LeaderActivity`) from the members whose turn comes earlier.  A leader may ask
    without end, so the member leads r * PATIENCE stall times after the last step in any case.  Of n members,
    f liars delay a request by at most f * PATIENCE stall times, f frozen or missing ones by at most f.

    While the request is due, a member that has led in vain comes after all others.
    """

    def __init__(self, own: bytes, leads: LeaderActivity, now: Callable[[], float] = time.monotonic) -> None:
        """Starts without history; `own` is the member's voting address, `now` the clock of `leads`."""
        self._own = own
        self._leads = leads
        self._now = now
        self._looks: dict[int, _Waited] = {}

    def has_come(
        self, number: int, digest: Bytes32, roster: Sequence[bytes], stall_seconds: float, progress: Hashable
    ) -> bool:
        """Whether it is this member's turn to lead a due request.

        `digest`: of the request; ranks the members of the roster.  `progress`: state of the request on the
        chains.
        """
        now = self._now()
        look = self._looks.setdefault(number, _Waited(progress, now))
        if look.progress != progress:
            look = self._looks[number] = replace(look, progress=progress, since=now)
        ranks = {member: rank(digest, place, len(roster)) for place, member in enumerate(roster, start=1)}
        turn = ranks[self._own] if look.tried == -math.inf else len(roster)
        before = [member for member, other in ranks.items() if other < turn and member != self._own]
        since = max(look.since, look.tried)
        if now - since >= turn * PATIENCE * stall_seconds:
            return True
        return now - max(since, self._leads.last(before)) >= turn * stall_seconds

    def led(self, number: int) -> None:
        """Records that this member has led a request, which may still be due."""
        look = self._looks.get(number)
        if look is not None:
            self._looks[number] = replace(look, tried=self._now())

    def tried(self, number: int) -> float:
        """The time when this member last led a request that is still due; -inf if never."""
        look = self._looks.get(number)
        return -math.inf if look is None else look.tried

    def over(self, number: int) -> None:
        """Records that a request is not due."""
        self._looks.pop(number, None)
