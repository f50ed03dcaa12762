# SPDX-License-Identifier: Apache-2.0
"""Leads the requests on the chain whose parts participants have handed in."""

from __future__ import annotations

from blockful_py.chain.participant_registry import FiledRequest
from blockful_py.child_process import ChildProcesses
from blockful_py.committee.service.folder import MemberFolder
from blockful_py.crypto.keccak import keccak
from blockful_py.errors import BlockfulError, RunError
from blockful_py.member.leader_process import LeaderProcess
from blockful_py.member.office import MemberOffice, MemberView
from blockful_py.member.takeover import require_funds
from blockful_py.member.turns import Turns
from blockful_py.record.model_node import Request
from blockful_py.record.parts import is_complete, missing, request_from_bytes, unanswered
from blockful_py.types import Paradigm


class RequestDuty:
    """Watches the filed requests of a federation of machines, and leads those whose parts are all there, and
    those whose owners have not answered in time.

    Members lead by turns (`Turns`), so that one leads at a time while the others see it work.  One that has
    led a request in vain lets all others try, and leads other requests before that one.
    What is left of a sequential request when its owners are done, and of one whose leader died, is little:
    the keys of replaced versions are destroyed by every member by itself.
    """

    name = "request"

    def __init__(
        self,
        office: MemberOffice,
        folder: MemberFolder,
        processes: ChildProcesses,
        turns: Turns,
    ) -> None:
        self._office = office
        self._folder = folder
        self._processes = processes
        self._turns = turns
        self._passed_over: dict[int, str] = {}

    def step(self) -> None:
        """Raises RunError when the leader process fails, SettingsError when the member's account is empty."""
        try:
            view = self._office.view()
        except RunError:
            return  # the run may come after the member
        if view.run.party is None or view.contracts.followers is None:
            return
        filed_requests = view.contracts.participants.filed_requests()
        ready = [filed for filed in filed_requests if self._is_ready(view, filed)]
        if ready:
            self._lead(view, min(ready, key=lambda filed: self._turns.tried(filed.number)))

    def _is_ready(self, view: MemberView, filed: FiledRequest) -> bool:
        """Whether this member's turn has come to lead the request."""
        try:
            request = self._request(view, filed)
            if not self._is_due(view, filed, request):
                self._turns.over(filed.number)
                return False
            progress = _progress(view, request)
        except BlockfulError as error:
            self._passed_over[filed.number] = str(error)  # another request may be carried out
            return False
        roster = self._office.roster(view.contracts.committee.current_epoch())
        if self._folder.address not in roster:
            return False
        stall_seconds = view.run.settings.committee.stall_seconds
        return self._turns.has_come(filed.number, keccak(filed.uri.digest), roster, stall_seconds, progress)

    @staticmethod
    def _is_due(view: MemberView, filed: FiledRequest, request: Request) -> bool:
        """Whether a leader has something to do: parts to gather, or models to withdraw."""
        catalogue, rules = view.record.catalogue.read(), view.run.settings.unlearning
        if not missing(catalogue, request):
            return False
        if request.paradigm == Paradigm.PARALLEL:
            return is_complete(catalogue, request, view.contracts.participants.hand_ins(filed.number))
        now = view.contracts.live.node.block_number()
        over = unanswered(catalogue, request, filed, rules.blocks, now)
        return rules.unanswered == "withdraw" and bool(over)

    def _request(self, view: MemberView, filed: FiledRequest) -> Request:
        live = view.contracts.live
        data = view.live_store.read(filed.uri)
        return request_from_bytes(data, live.chain_id, live.address, view.record.catalogue.read())

    def _lead(self, view: MemberView, filed: FiledRequest) -> None:
        keys = self._folder.keys
        require_funds(view, keys.account)
        secret = self._folder.voting_secret
        try:
            self._processes.run(
                LeaderProcess(view.run.path, view.place, keys.account_secret, secret, filed.number).to_json()
            )
        finally:
            self._turns.led(filed.number)


def _progress(view: MemberView, request: Request) -> tuple[tuple[str, ...], int]:
    """The models that are left to replace, and how many records the archive has of them."""
    catalogue = view.record.catalogue.read()
    left = missing(catalogue, request)
    positions = {catalogue[name].position for name in left}
    return left, sum(stored.record.position in positions for stored in view.record.archive.read())
