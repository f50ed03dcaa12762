# SPDX-License-Identifier: Apache-2.0
"""Searches for one file among machines, some of which may lie, lag, or be busy."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from blockful_py.errors import BlockNotFoundError, BusyError, StoreUnreachableError
from blockful_py.storage.assembly import Assembly
from blockful_py.storage.cid import cid_string
from blockful_py.storage.fetch import AbsentError, Fetch, Machine
from blockful_py.storage.standing import Standing
from blockful_py.types import Uri

BUSY_SECONDS = 1.0
"""Seconds to wait before busy machines are asked again."""
SEVERAL = 2
"""Minimum number of busy members worth waiting for although others lack the file."""

PassedOver = AbsentError | BusyError | StoreUnreachableError
"""Reason why a machine was skipped."""
Report = Callable[[str, str], None]
"""Called with a machine's URL and why it was skipped."""


@dataclass
class Search:
    """Asks machines for an assembly's missing blocks, until a deadline.

    Attributes:
        seconds: limit for all machines together; `each`: limit for one machine at a time.
        now: the clock, in seconds.
    """

    uri: Uri
    assembly: Assembly
    fetch: Fetch
    standing: Standing
    report: Report
    seconds: float
    each: float
    now: Callable[[], float]
    _reasons: dict[Machine, PassedOver] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._deadline = self.now() + self.seconds

    @property
    def is_absent_somewhere(self) -> bool:
        """Whether a machine answered that it does not have the file."""
        return any(isinstance(reason, AbsentError) for reason in self._reasons.values())

    def asks(self, machines: Sequence[Machine]) -> bool:
        """Asks the machines in turn, repeatedly while that brings blocks; returns whether the file is whole.

        Raises StoreUnreachableError at the deadline.
        """
        before = -1
        while before != self._blocks():
            if before >= 0 and self._busy():
                time.sleep(BUSY_SECONDS)
            before = self._blocks()
            for machine in self.standing.order(machines):
                if self._brings(machine):
                    return True
        return False

    def waits(self) -> bool:
        """Asks busy machines again while that is worthwhile; returns and raises as `asks`.

        If other machines lack the file, waiting for a single busy member or for busy participants is not
        worthwhile.
        """
        begun = self.now()
        try:
            while busy := self._busy():
                members = [machine for machine in busy if machine.owner is None]
                if self.is_absent_somewhere and len(members) < SEVERAL:
                    break
                time.sleep(BUSY_SECONDS)
                if any(self._brings(machine) for machine in busy):
                    return True
        except StoreUnreachableError:
            for machine in self._busy():
                self.standing.cost(machine, self.now() - begun)
            raise
        return False

    def failure(self, when: str = "") -> BlockNotFoundError | StoreUnreachableError:
        """The error that explains why the file is incomplete."""
        reasons = "; ".join(f"{machine.url}: {reason}" for machine, reason in self._reasons.items())
        told = f"({reasons or 'no machine is known'})"
        if not when and all(isinstance(reason, AbsentError) for reason in self._reasons.values()):
            return BlockNotFoundError(
                f"{cid_string(self.uri)} is not in this store, and no machine that it may ask has all of it "
                f"{told}: it was deleted, or its owner has to be reachable."
            )
        return StoreUnreachableError(
            f"{cid_string(self.uri)} could not be fetched{when} {told}: run the command again; fetched "
            "blocks are kept."
        )

    def _busy(self) -> list[Machine]:
        return [machine for machine, reason in self._reasons.items() if isinstance(reason, BusyError)]

    def _blocks(self) -> int:
        """Number of known blocks that are here."""
        return len(self.assembly.blocks) - len(self.assembly.missing)

    def _brings(self, machine: Machine) -> bool:
        """Asks a machine for everything missing; returns whether it sent it."""
        begun = self.now()
        left, rest = self._deadline - begun, self.standing.rest(machine)
        if left <= 0:
            raise self.failure(f" within {self.seconds:g} s")
        if rest and self.is_absent_somewhere:
            self._reasons[machine] = StoreUnreachableError(
                f"it cost time without result, and rests for {rest:.0f} s"
            )
            return False
        try:
            self.fetch.ask(machine, min(left, self.each))
        except (AbsentError, BusyError, StoreUnreachableError) as error:
            self.report(machine.url, str(error))
            self._reasons[machine] = type(error)(str(error))  # a new error, without frames that hold blocks
            at_fault = isinstance(error, StoreUnreachableError)
            (self.standing.fault if at_fault else self.standing.cost)(machine, self.now() - begun)
            return False
        self.standing.brought(machine)
        return True
