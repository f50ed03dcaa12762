# SPDX-License-Identifier: Apache-2.0
"""Ranks machines by past behaviour: faulty ones come last, and costly ones rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from math import inf

from blockful_py.storage.fetch import Machine

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
