# SPDX-License-Identifier: Apache-2.0
"""Finishes certified decisions and rotations that their leader left unfinished."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from blockful_py.chain.committee import CommitteeContract
from blockful_py.chain.settlement import (
    ARCHIVE,
    LIVE,
    Release,
    Settlement,
    SettlementContract,
    send_missing,
    unrecorded,
)
from blockful_py.committee.certified import CertifiedPublication
from blockful_py.committee.memory import Ballot
from blockful_py.committee.service.folder import MemberFolder
from blockful_py.committee.service.outbox import Outbox, PendingDecision
from blockful_py.committee.succession import Acknowledgement
from blockful_py.errors import BlockfulError, ContractError
from blockful_py.member.office import MemberOffice
from blockful_py.pipeline.jobs.journaled_sends import settlement_of
from blockful_py.pipeline.run.clock import tick
from blockful_py.types import Bytes32

Done = tuple[tuple[int, int], ...]
"""Executed and total chunks, on the archive chain and on the live chain; (0, 0) before the first."""


@dataclass(frozen=True, slots=True)
class _Look:
    """Progress of a decision, and the time (seconds) of its last change."""

    progress: Done
    since: float


class FinishingDuty:
    """Watches the decisions in the outbox, and sends the missing transactions of a stalled one.

    A member of rank r waits r + 1 times the stall time of the run's settings, so one member acts first.  If
    two act at once, one pays for a transaction that reverts, since contracts execute a chunk once.
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
        """Checks every decision, then raises the first error."""
        problems: list[BlockfulError] = []
        for kept in self._outbox.kept():
            try:
                self._check(kept)
            except BlockfulError as error:
                problems.append(error)
        if problems:
            raise problems[0]

    def _check(self, kept: PendingDecision) -> None:
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
        turn = 1 + rank(ballot.proposal, seat.member.index, len(seat.member.roster.keys))
        if self._now() - look.since >= turn * view.run.settings.committee.stall_seconds:
            self._looks[ballot] = _Look(progress, self._now())
            for contract in (contracts.archive, contracts.live):
                tick(contract.node)  # an idle development chain's clock may be before the decision's time
            published = isinstance(kept.certified, CertifiedPublication)
            note = f"finish a {'publication' if published else 'redaction'}"
            self._finish(kept, settlement_of(contracts, kept.certified, note), sides, view.release)

    def _finish(
        self,
        kept: PendingDecision,
        settlement: Settlement,
        sides: Mapping[str, SettlementContract],
        release: Release,
    ) -> None:
        try:
            for _ in send_missing(settlement, sides, unrecorded, release):
                pass
        except ContractError:
            if not any(done for done, _ in _progress(sides, settlement.proposal)):
                self._drop(kept)  # decided for a past state, so no contract will execute it
            raise

    def _drop(self, kept: PendingDecision) -> None:
        self._outbox.finished(kept)
        self._looks.pop(kept.ballot, None)


def rank(proposal: Bytes32, index: int, size: int) -> int:
    """Number of members that act before the one at a 1-based index; depends on the proposal."""
    return (index - 1 - int.from_bytes(proposal, "big")) % size


def _progress(sides: Mapping[str, SettlementContract], proposal: Bytes32) -> Done:
    return tuple(contract.progress(proposal) for contract in sides.values())


Epochs = tuple[int, int, int]
"""Epochs of the mirror, of the newest acknowledgement, and of the home chain."""


class FollowingDuty:
    """Advances a mirror that lags, and acknowledges its epoch to the home chain once it is in force.

    `rotate` does both at once; the duty completes an interrupted rotation, since the stake of retired members
    is locked until then.  A member of rank r waits r + 1 times the stall time of the run's settings.
    """

    name = "follow"

    def __init__(
        self, office: MemberOffice, folder: MemberFolder, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._office = office
        self._folder = folder
        self._now = now
        self._seen: tuple[Epochs, float] | None = None

    def step(self) -> None:
        """Advances or acknowledges when it is this member's turn.

        Raises QuorumError when too few members agree; a later step tries again.
        """
        view = self._office.view_if_any()
        if view is None:
            return
        committee = view.contracts.committee
        if not isinstance(committee, CommitteeContract) or view.contracts.followers is None:
            return
        mirror = view.contracts.mirror
        at, told, current = mirror.current_epoch(), committee.acknowledged(), committee.current_epoch()
        if at == told == current or current == 1:
            return
        if self._seen is None or self._seen[0] != (at, told, current):
            self._seen = ((at, told, current), self._now())
        roster = self._office.roster(at)
        if self._folder.address not in roster:
            return  # only members of that epoch are asked for votes, and answer each other
        place = roster.index(self._folder.address) + 1
        turn = 1 + rank(Acknowledgement.of(mirror, at).proposal(), place, len(roster))
        if self._now() - self._seen[1] < turn * view.run.settings.committee.stall_seconds:
            return
        self._seen = None
        peers = view.led_by(self._folder)
        if at < current:
            peers.follow((), b"")
        else:
            peers.acknowledge()
