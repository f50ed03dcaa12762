# SPDX-License-Identifier: Apache-2.0
"""Decides when it is a member's turn to lead a request, and records when other members lead."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.request_handler import Admitted
from blockful_py.committee.service.server import Service
from blockful_py.errors import BlockfulError
from blockful_py.member.finishing import rank
from blockful_py.types import Address, Bytes32

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


TOLD = 3
"""Announcements of a starting leader in each stall time."""
STARTING = 5
"""Stall times during which a starting leader is announced; members wait little longer for a hanging one."""

_log = logging.getLogger(__name__)


@contextmanager
def heard(tell: Callable[[], None], stall_seconds: float) -> Iterator[None]:
    """Tells the other members that this one leads, at once and repeatedly while the block runs.

    A leader is a process that takes time to start, on a busy machine longer than the others wait for its
    first question.
    """
    over = threading.Event()

    def tell_on() -> None:
        for _ in range(TOLD * STARTING):
            try:
                tell()
            except BlockfulError as error:
                _log.debug("the other members do not know yet that this one leads: %s", error)
            if over.wait(stall_seconds / TOLD):
                return

    telling = threading.Thread(target=tell_on, daemon=True)
    telling.start()
    try:
        yield
    finally:
        over.set()
        telling.join()


class LeaderActivity:
    """The last time that each member was active as a leader: asking, or waiting for this member's answer."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._last: dict[bytes, float] = {}
        self._waiting: Counter[bytes] = Counter()

    @contextmanager
    def answering(self, kind: MessageKind, sender: Address | None) -> Iterator[None]:
        """Marks a leader as active while its question is answered; `sender` is None for strangers."""
        if sender is None or not kind.row.by_leader:
            yield
            return
        with self._lock:
            self._waiting[sender] += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting[sender] -= 1
                self._last[sender] = self._now()

    def last(self, members: Collection[bytes]) -> float:
        """The last time that one of these members was active, in seconds of the clock; -inf if never."""
        with self._lock:
            if any(self._waiting[member] for member in members):
                return self._now()
            return max((self._last.get(member, -math.inf) for member in members), default=-math.inf)


class LeadRecorder:
    """A member's `Service` that records active leaders; `admit` authenticates them."""

    def __init__(self, service: Service[Admitted], leads: LeaderActivity) -> None:
        self._service = service
        self._leads = leads

    def admit(self, line: bytes, size: int) -> Admitted:
        return self._service.admit(line, size)

    def fetcher(self, line: bytes) -> bytes:
        return self._service.fetcher(line)

    def answer(self, admitted: Admitted, body: bytes) -> bytes:
        with self._leads.answering(admitted.kind, admitted.peer):
            return self._service.answer(admitted, body)
