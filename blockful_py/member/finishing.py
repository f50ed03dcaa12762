# SPDX-License-Identifier: Apache-2.0
"""Finishes what was certified and what its leader left undone."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from blockful_py.chain.settlement import (
    ARCHIVE,
    LIVE,
    Settlement,
    SettlementContract,
    send_missing,
    unrecorded,
)
from blockful_py.committee.certified import Certified, CertifiedPublication
from blockful_py.committee.memory import Ballot
from blockful_py.committee.service.outbox import Outbox, PendingDecision
from blockful_py.errors import BlockfulError, ContractError
from blockful_py.member.office import MemberOffice
from blockful_py.pipeline.jobs.publishing import publication_settlement
from blockful_py.pipeline.jobs.redaction import redaction_settlement
from blockful_py.pipeline.run.contracts import Contracts

Done = tuple[tuple[int, int], ...]
"""Chunks done and in all, on the archive chain and on the live chain; (0, 0) before the first."""


@dataclass(frozen=True, slots=True)
class _Look:
    """What was seen of a job, and since when (seconds) nothing else was."""

    progress: Done
    since: float


class FinishingDuty:
    """Watches the jobs that this member keeps, and sends what is missing of one that makes no progress.

    Members wait for the stall time of the run's settings, one after the other, each its rank longer, so that
    one goes first.  Two that go at once cost a transaction that reverts: contracts run a chunk once.
    """

    name = "finish"

    def __init__(
        self, office: MemberOffice, outbox: Outbox, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._office = office
        self._outbox = outbox
        self._now = now
        self._looks: dict[Ballot, _Look] = {}

    def step(self) -> None:
        """Raises the first error met, after a look at every job."""
        problems: list[BlockfulError] = []
        for kept in self._outbox.kept():
            try:
                self._look_after(kept)
            except BlockfulError as error:
                problems.append(error)
        if problems:
            raise problems[0]

    def _look_after(self, kept: PendingDecision) -> None:
        view = self._office.view()
        contracts, ballot = view.contracts, kept.ballot
        sides: dict[str, SettlementContract] = {ARCHIVE: contracts.archive, LIVE: contracts.live}
        progress = _progress(sides, ballot.proposal)
        committee = contracts.committee
        home = (committee.chain_id, committee.address, committee.current_epoch())
        over = (ballot.chain_id, ballot.committee, ballot.epoch) != home
        if over or all(done == chunks > 0 for done, chunks in progress):
            self._drop(kept)
            return
        look = self._looks.get(ballot)
        if look is None or look.progress != progress:
            look = self._looks[ballot] = _Look(progress, self._now())
        seat = self._office.seat(ballot.epoch)
        turn = 1 + rank(ballot.proposal, seat.member.index, len(seat.roster))
        if self._now() - look.since >= turn * view.run.settings.committee.stall_seconds:
            self._looks[ballot] = _Look(progress, self._now())
            self._finish(kept, settlement_of(contracts, kept.certified), sides)

    def _finish(
        self, kept: PendingDecision, settlement: Settlement, sides: Mapping[str, SettlementContract]
    ) -> None:
        try:
            for _ in send_missing(settlement, sides, unrecorded):
                pass
        except ContractError:
            if not any(done for done, _ in _progress(sides, settlement.proposal)):
                self._drop(kept)  # it was decided for a state that has passed, and changed nothing
            raise

    def _drop(self, kept: PendingDecision) -> None:
        self._outbox.finished(kept)
        self._looks.pop(kept.ballot, None)


def rank(proposal: bytes, index: int, size: int) -> int:
    """How many members go before the one at a 1-based index; another one goes first for each proposal."""
    return (index - 1 - int.from_bytes(proposal, "big")) % size


def settlement_of(contracts: Contracts, certified: Certified) -> Settlement:
    """The transactions of a decision."""
    if isinstance(certified, CertifiedPublication):
        return publication_settlement(contracts, certified, "finish a publication")
    return redaction_settlement(contracts, certified, (), "finish a redaction")


def _progress(sides: Mapping[str, SettlementContract], proposal: bytes) -> Done:
    return tuple(contract.progress(proposal) for contract in sides.values())
