# SPDX-License-Identifier: Apache-2.0
"""Spaces out fetches: files that could not be fetched wait, faulty machines come last, costly ones rest."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf

from blockful_py.errors import BlockNotFoundError, StoreUnreachableError
from blockful_py.storage.fetch import Machine
from blockful_py.types import Uri

FIRST_SECONDS = 1.0
"""Delay before the first retry; each further delay doubles."""
LONGEST_SECONDS = 300.0
"""Maximum delay if machines said that they lack the file."""
LONGEST_ALONE_SECONDS = 8.0
"""Maximum delay if no machine was reached: the network is expected to return."""
MOST_FILES = 4096
"""Maximum number of remembered files; the oldest are dropped."""
_BLOCKS = 8
"""Missing blocks remembered per file; the arrival of one of them allows an immediate retry."""

Failure = BlockNotFoundError | StoreUnreachableError
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class _Absent:
    """A failed fetch: its reason, some missing blocks, and the time of the next attempt.

    It stores no exception, whose frames would keep the bytes that a machine sent.
    """

    kind: type[Failure]
    reason: str
    missing: tuple[Uri, ...]
    pause: float
    until: float


class AbsentFiles:
    """Remembers failed fetches; thread-safe."""

    def __init__(self, now: Clock) -> None:
        self._now = now
        self._files: OrderedDict[Uri, _Absent] = OrderedDict()

    def require_due(self, uri: Uri, is_here: Callable[[Uri], bool]) -> None:
        """Repeats the failure of the last fetch until its delay is over or a missing block arrives."""
        absent = self._files.get(uri)
        if absent is None:
            return
        left = absent.until - self._now()
        if left > 0 and not any(is_here(block) for block in absent.missing):
            raise absent.kind(f"{absent.reason} The next attempt is in {left:.0f} s.")

    def is_due(self, uri: Uri) -> bool:
        """Whether the delay after the last failed fetch, if any, is over."""
        absent = self._files.get(uri)
        return absent is None or absent.until <= self._now()

    def note(self, uri: Uri, failure: Failure, missing: tuple[Uri, ...], answered: bool) -> None:
        """Records a failed fetch; `answered` means that a machine said it lacks the file."""
        before = self._files.pop(uri, None)
        longest = LONGEST_SECONDS if answered else LONGEST_ALONE_SECONDS
        pause = min(FIRST_SECONDS if before is None else 2 * before.pause, longest)
        self._files[uri] = _Absent(type(failure), str(failure), missing[:_BLOCKS], pause, self._now() + pause)
        while len(self._files) > MOST_FILES:
            self._files.popitem(last=False)

    def forget(self, uri: Uri) -> None:
        self._files.pop(uri, None)


FREE_SECONDS = 5.0
"""Seconds that an answer may take for free."""
REST = 10.0
"""Seconds of rest per second that a machine cost."""
LONGEST_REST = 600.0


class Standing:
    """A time budget per account that serves blocks: at most a share of 1 / (1 + REST) is spent on it.

    A participant's account keeps its standing if it announces another URL.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._failed: dict[bytes | Machine, float] = {}
        self._rested: dict[bytes | Machine, float] = {}

    def order(self, machines: Iterable[Machine]) -> list[Machine]:
        """Sorts machines: faultless ones first, then by latest fault, resting ones last; stable."""
        return sorted(machines, key=lambda each: (self.rest(each) > 0, self._failed.get(_who(each), -inf)))

    def rest(self, machine: Machine) -> float:
        """Seconds that a machine still rests; meanwhile it is asked only if no other machine answers."""
        return max(0.0, self._rested.get(_who(machine), 0.0) - self._now())

    def brought(self, machine: Machine) -> None:
        """Records that it sent the missing blocks, which ends its rest."""
        self._rested.pop(_who(machine), None)

    def cost(self, machine: Machine, seconds: float) -> None:
        """Records that it cost time without result."""
        rest = min(LONGEST_REST, REST * (seconds - FREE_SECONDS))
        if rest > self.rest(machine):
            self._rested[_who(machine)] = self._now() + rest

    def fault(self, machine: Machine, seconds: float) -> None:
        """Records that it was unreachable or sent wrong data."""
        self._failed[_who(machine)] = self._now()
        self.cost(machine, seconds)


def _who(machine: Machine) -> bytes | Machine:
    return machine.owner or machine
