# SPDX-License-Identifier: Apache-2.0
"""How machines have behaved: who is asked first, and who rests after it cost time and brought nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from math import inf

from blockful_py.storage.fetch import Machine

FREE_SECONDS = 5.0
"""That an answer may take without counting."""
REST = 10.0
"""Seconds that a machine rests for each second that it cost."""
LONGEST_REST = 600.0


class Standing:
    """A budget of time for each account that serves blocks: at most a share of 1 / (1 + REST) is spent on it.

    A participant's account keeps its standing when it announces another URL.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._failed: dict[bytes | Machine, float] = {}
        self._rested: dict[bytes | Machine, float] = {}

    def order(self, machines: Iterable[Machine]) -> list[Machine]:
        """Those that rest last, before them those at fault, the latest last; otherwise in the order given."""
        return sorted(machines, key=lambda each: (self.rest(each) > 0, self._failed.get(_who(each), -inf)))

    def rest(self, machine: Machine) -> float:
        """Seconds that a machine still rests; it is asked meanwhile only where no other answers."""
        return max(0.0, self._rested.get(_who(machine), 0.0) - self._now())

    def brought(self, machine: Machine) -> None:
        """It brought what was missing."""
        self._rested.pop(_who(machine), None)

    def cost(self, machine: Machine, seconds: float) -> None:
        """It cost time and brought nothing."""
        rest = min(LONGEST_REST, REST * (seconds - FREE_SECONDS))
        if rest > self.rest(machine):
            self._rested[_who(machine)] = self._now() + rest

    def fault(self, machine: Machine, seconds: float) -> None:
        """It was not reached, or sent what is not the file."""
        self._failed[_who(machine)] = self._now()
        self.cost(machine, seconds)


def _who(machine: Machine) -> bytes | Machine:
    return machine.owner or machine
