# SPDX-License-Identifier: Apache-2.0
"""Notes when the other members lead, by the questions that they ask as leaders."""

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

TOLD = 3
"""Times in a stall time that the others are told of a leader that starts."""
STARTING = 5
"""Stall times for which they are told: a leader that hangs is not waited for much longer."""

_log = logging.getLogger(__name__)


@contextmanager
def heard(tell: Callable[[], None], stall_seconds: float) -> Iterator[None]:
    """Has the other members told that this one leads, at once and again while the block runs.

    A leader is a process that takes time to start: on a busy machine longer than the others wait for its
    first question.
    """
    over = threading.Event()

    def tell_on() -> None:
        for _ in range(TOLD * STARTING):
            try:
                tell()
            except BlockfulError as error:
                _log.debug("the others are not told that this member leads: %s", error)
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
    """When each member was last seen leading: asking, or waiting for this member's answer."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._last: dict[bytes, float] = {}
        self._waiting: Counter[bytes] = Counter()

    @contextmanager
    def answering(self, kind: MessageKind, sender: bytes | None) -> Iterator[None]:
        """Open while a question is answered.  `sender`: the key that signed it; None for strangers."""
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
        """When one of them was last seen, in seconds of the clock; -inf where none was."""
        with self._lock:
            if any(self._waiting[member] for member in members):
                return self._now()
            return max((self._last.get(member, -math.inf) for member in members), default=-math.inf)


class LeadRecorder:
    """A member's `Service` that notes who leads; the first lines that it admits are authenticated."""

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
