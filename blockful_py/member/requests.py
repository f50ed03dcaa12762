# SPDX-License-Identifier: Apache-2.0
"""Leads requests: their admission, the decision on their parts, and withdrawals."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from blockful_py.chain.participant_registry import FiledRequest
from blockful_py.child_process import ChildProcesses
from blockful_py.committee.service.folder import MemberFolder
from blockful_py.crypto.keccak import keccak
from blockful_py.errors import BlockfulError
from blockful_py.member.leader_process import LeaderProcess
from blockful_py.member.office import MemberOffice
from blockful_py.member.takeover import require_funds
from blockful_py.member.turns import Turns, heard
from blockful_py.member.view import MemberView
from blockful_py.pipeline.coordination.motions import decide_request
from blockful_py.pipeline.review.admission import Ruling
from blockful_py.pipeline.run.operations import Counter
from blockful_py.record.request_state import Filed, RequestStanding
from blockful_py.types import RequestState

FIRST_PAUSE, LONGEST_PAUSE = 5.0, 600.0
"""Seconds between attempts to read an unreadable request; doubles after each."""


@dataclass(frozen=True, slots=True)
class _Unread:
    """A request that could not be read: the reason, the next attempt, and the pause after that."""

    reason: str
    until: float
    pause: float


class RequestDuty:
    """Watches the filed requests of a federation of machines, and leads their pending steps.

    It has undecided requests admitted or dismissed, executes requests with complete parts or without any, and
    withdraws models whose owners have not answered in time.

    Members lead by turns (`Turns`), so that one leads at a time while the others see it work.  A member that
    has led a request in vain lets all others try, and leads other requests first.  Little is left of a
    sequential request when its owners are done, or of a request whose leader died: each member destroys the
    keys of replaced versions by itself.
    """

    name = "request"

    def __init__(
        self,
        office: MemberOffice,
        folder: MemberFolder,
        processes: ChildProcesses,
        turns: Turns,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._office = office
        self._folder = folder
        self._processes = processes
        self._turns = turns
        self._now = now
        self._unread: dict[int, _Unread] = {}

    def step(self) -> None:
        """Decides and leads due requests.

        Raises RunError when the leader process fails, SettingsError when the member's account is empty, and
        QuorumError when others judge a request differently.
        """
        view = self._office.view_if_any()
        if view is None or view.run.party is None or view.contracts.followers is None:
            return
        problem: BlockfulError | None = None
        undecided, ready = self._undecided(view), self._admitted(view)
        if undecided:
            number = min(undecided, key=self._turns.tried)
            try:
                self._decide(view, number, undecided[number])
            except BlockfulError as error:
                problem = error
        if ready:
            self._lead(view, min(ready, key=self._turns.tried))
        if problem is not None:
            raise problem

    def _undecided(self, view: MemberView) -> dict[int, bool]:
        """Requests for this member to put to a decision now, by number: true to admit, false to dismiss."""
        filed_requests = view.contracts.participants.filed_requests()
        waiting = [filed for filed in filed_requests if filed.state is RequestState.FILED]
        numbers = {filed.number for filed in waiting}
        self._unread = {number: each for number, each in self._unread.items() if number in numbers}
        rulings = {filed: self._ruling(view, filed) for filed in waiting}
        return {
            filed.number: ruling is Ruling.ADMIT
            for filed, ruling in rulings.items()
            if ruling is not Ruling.WAIT and self._has_come(view, filed, ruling)
        }

    def _ruling(self, view: MemberView, filed: FiledRequest) -> Ruling:
        before = self._unread.get(filed.number)
        if before is not None and self._now() < before.until:
            return Ruling.WAIT
        try:
            ruling = view.admission.verdict(filed.number).ruling
        except BlockfulError as error:  # its file may still arrive; decide others meanwhile
            pause = FIRST_PAUSE if before is None else before.pause
            self._unread[filed.number] = _Unread(
                str(error), self._now() + pause, min(2 * pause, LONGEST_PAUSE)
            )
            return Ruling.WAIT
        self._unread.pop(filed.number, None)
        if ruling is Ruling.WAIT:
            self._turns.over(filed.number)
        return ruling

    def _admitted(self, view: MemberView) -> list[int]:
        """Admitted requests with parts to gather or models to withdraw, when it is this member's turn."""
        numbers = []
        for status in view.docket.admitted():
            ready = status.stage.is_open and status.ready
            if not (ready or status.unanswered()):
                self._turns.over(status.number)
            elif self._has_come(view, status.filed, _progress(view, status)):
                numbers.append(status.number)
        return numbers

    def _has_come(self, view: MemberView, filed: Filed, progress: Hashable) -> bool:
        """Whether it is this member's turn to lead the request."""
        roster = self._office.roster(view.contracts.committee.current_epoch())
        if self._folder.address not in roster:
            return False
        stall_seconds = view.run.settings.committee.stall_seconds
        return self._turns.has_come(filed.number, keccak(filed.uri.digest), roster, stall_seconds, progress)

    def _decide(self, view: MemberView, number: int, admitted: bool) -> None:
        """Asks the other members from this process: that takes no model, and less time than a new process."""
        require_funds(view, self._folder.keys.account)
        coordinator = view.led_by(self._folder).coordinator(Counter())
        try:
            decide_request(view.contracts, coordinator, number, admitted)
        finally:
            self._turns.led(number)

    def _lead(self, view: MemberView, number: int) -> None:
        keys = self._folder.keys
        require_funds(view, keys.account)
        secret, stall = self._folder.voting_secret, view.run.settings.committee.stall_seconds
        peers = view.led_by(self._folder)
        task = LeaderProcess(view.run.path, view.nodes.place, keys.account_secret, secret, number)
        try:
            with heard(lambda: peers.tell_lead(number), stall):
                self._processes.run(task.to_json())
        finally:
            self._turns.led(number)


def _progress(view: MemberView, status: RequestStanding) -> tuple[tuple[str, ...], int]:
    """The models still to replace, and the number of their archive records."""
    positions = {status.record[name].position for name in status.missing}
    archived = sum(stored.record.position in positions for stored in view.record.archive.read())
    return status.missing, archived
