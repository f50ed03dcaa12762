# SPDX-License-Identifier: Apache-2.0
"""Writes what was certified to the chains: archive first, then live; each transaction once.

The transactions are in the journal before the first is sent.  Running a journal again skips what the
contracts say is done, so a crash between two transactions changes nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from blockful_py.engine.journal import Journal
from blockful_py.errors import ContractError
from blockful_py.pipeline.progress import Stopwatch
from blockful_py.types import Receipt

ARCHIVE, LIVE = "archive", "live"


class Contract(Protocol):
    """A contract that executes chunks of a proposal in order."""

    def progress(self, proposal: bytes) -> tuple[int, int]:
        """Chunks done and chunks in all; (0, 0) before the first."""

    def send(self, data: bytes) -> Receipt:
        """Sends a call and waits for its receipt. Raises ContractError when it is refused."""


@dataclass(frozen=True, slots=True)
class Call:
    """One transaction: the chain it goes to, its chunk of the proposal, and its call data."""

    chain: str
    chunk: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Job:
    """A certified proposal: its calls in order, and the bytes to forget once they are done.

    Attributes:
        forget: CIDs that leave the live store when the job is done (an erased version).
        note: what the job is, for messages.
    """

    proposal: bytes
    calls: tuple[Call, ...]
    forget: tuple[str, ...] = ()
    note: str = ""

    def to_entry(self) -> dict[str, Any]:
        return {
            "proposal": self.proposal.hex(),
            "calls": [{"chain": c.chain, "chunk": c.chunk, "data": c.data.hex()} for c in self.calls],
            "forget": list(self.forget),
            "note": self.note,
        }

    @classmethod
    def from_entry(cls, entry: dict[str, Any]) -> Job:
        calls = tuple(Call(c["chain"], c["chunk"], bytes.fromhex(c["data"])) for c in entry["calls"])
        return cls(bytes.fromhex(entry["proposal"]), calls, tuple(entry["forget"]), entry["note"])


@dataclass(frozen=True, slots=True)
class Executed:
    """A transaction that was sent, and the chain it went to."""

    chain: str
    receipt: Receipt


class Executor:
    """Carries out jobs on the two contracts, by way of the journal."""

    def __init__(self, journal: Journal, archive: Contract, live: Contract, stopwatch: Stopwatch) -> None:
        self._journal = journal
        self._stopwatch = stopwatch
        self._contracts = {ARCHIVE: archive, LIVE: live}

    def run(self, job: Job, announce: Callable[[], int] = lambda: 0) -> tuple[Executed, ...]:
        """Journals the job, tells others of it, then sends its calls.

        `announce` returns how many were told.  When a contract refuses the first call, nothing has changed
        and the journal is cleared.  When the call fails otherwise, the journal stays if others were told, as
        they may finish the job.
        """
        self._journal.write(job.to_entry())
        return self._send(job, told=announce() > 0)

    def unfinished(self) -> Job | None:
        """The job that a crash left, if any."""
        entry = self._journal.read()
        return Job.from_entry(entry) if entry is not None else None

    def resume(self, job: Job) -> bool:
        """Sends what the contracts have not executed yet of an unfinished job; whether it is whole.

        It is not when its epoch has ended and the rest can no longer run.
        """
        try:
            self._send(job, told=True)
        except ContractError as error:
            if not is_over(error):
                raise
            return False
        return True

    def done(self) -> None:
        """The job's calls and its after-work are complete."""
        self._journal.clear()

    def _send(self, job: Job, told: bool) -> tuple[Executed, ...]:
        sent: list[Executed] = []
        try:
            for each in send_missing(job, self._contracts, self._stopwatch):
                sent.append(each)
        except Exception as error:
            if not sent and (isinstance(error, ContractError) or not told):
                self._abandon(job)
            raise
        return tuple(sent)

    def _abandon(self, job: Job) -> None:
        """Clears the journal when the contracts confirm that nothing of the job was executed."""
        if not any(contract.progress(job.proposal)[0] for contract in self._contracts.values()):
            self._journal.clear()


def send_missing(
    job: Job, contracts: Mapping[str, Contract], stopwatch: Callable[[str], AbstractContextManager[None]]
) -> Iterator[Executed]:
    """Sends, one by one, the calls that the contracts have not executed; others may do so meanwhile.

    Raises ContractError for a call that is refused although nobody has executed it, and NodeError.
    """
    done = {name: contract.progress(job.proposal)[0] for name, contract in contracts.items()}
    for call in job.calls:
        if call.chunk < done[call.chain]:
            continue
        try:
            with stopwatch(call.chain):
                receipt = contracts[call.chain].send(call.data)
        except ContractError:
            done[call.chain] = contracts[call.chain].progress(job.proposal)[0]
            if call.chunk >= done[call.chain]:
                raise
        else:
            yield Executed(call.chain, receipt)


def is_over(error: ContractError) -> bool:
    """Whether a call was refused because the epoch of its certificate has ended."""
    return error.name == "StaleEpoch" and error.arguments["given"] < error.arguments["current"]


def gas_of(executed: Sequence[Executed], chain: str) -> int:
    """Gas used on one chain."""
    return sum(each.receipt.gas_used for each in executed if each.chain == chain)
