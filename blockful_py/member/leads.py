# SPDX-License-Identifier: Apache-2.0
"""Records when other members lead, based on the questions they ask as leaders."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.request_handler import Admitted
from blockful_py.committee.service.server import Service
from blockful_py.errors import BlockfulError
from blockful_py.types import Address

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
