# SPDX-License-Identifier: Apache-2.0
"""Takes over requests whose leader is gone."""

from __future__ import annotations

import time
from collections.abc import Callable

from blockful_py.child_process import ChildProcesses
from blockful_py.committee.service.folder import MemberFolder
from blockful_py.crypto.keccak import keccak
from blockful_py.errors import SettingsError
from blockful_py.member.finishing import rank
from blockful_py.member.leader_process import LeaderProcess
from blockful_py.member.office import MemberOffice
from blockful_py.member.view import MemberView
from blockful_py.pipeline.run.lease import Lease, request_under_way
from blockful_py.types import Address


class TakeoverDuty:
    """Watches the run for a signed request without a leader, and leads it under the member's own key.

    A leader holds a lock that is released when its process ends.  A member of rank r waits r + 1 times the
    take-over time of the run's settings.  A process of `processes` leads the request.

    Among machines, the run is the member's own.  An open job there, left by a killed leader, would keep the
    member from destroying replaced versions, so a process ends it at once.
    """

    name = "lead"

    def __init__(
        self,
        office: MemberOffice,
        folder: MemberFolder,
        processes: ChildProcesses,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._office = office
        self._folder = folder
        self._processes = processes
        self._now = now
        self._orphan: tuple[bytes, float] | None = None

    def step(self) -> None:
        """Takes over a pending request when it is this member's turn; a refused request is no longer pending.

        Raises RunError when the leader process fails, and SettingsError when the member's account is empty.
        """
        view = self._office.view_if_any()
        if view is None:
            return
        orphan = _orphan(view)
        if orphan is None:
            self._orphan = None
            return
        if view.run.party is not None:
            self._lead(view)  # ends the job; `RequestDuty` leads the rest of the request
            return
        roster = self._office.roster(view.contracts.committee.current_epoch())
        if self._folder.address not in roster:
            return
        if self._orphan is None or self._orphan[0] != orphan:
            self._orphan = (orphan, self._now())
        turn = 1 + rank(orphan, roster.index(self._folder.address) + 1, len(roster))
        if self._now() - self._orphan[1] >= turn * view.run.settings.committee.takeover_seconds:
            self._lead(view)

    def _lead(self, view: MemberView) -> None:
        self._orphan = None
        keys = self._folder.keys
        require_funds(view, keys.account)
        self._processes.run(
            LeaderProcess(
                view.run.path, view.nodes.place, keys.account_secret, self._folder.voting_secret
            ).to_json()
        )


def _orphan(view: MemberView) -> bytes | None:
    """Digest of a pending request without a leader, or None."""
    request = request_under_way(view.run.journal)
    if request is None or not Lease.is_free(view.run.path):
        return None
    return keccak(request.model_dump_json().encode())


def require_funds(view: MemberView, account: Address) -> None:
    contracts = view.contracts
    empty = {side.chain_id for side in (contracts.live, contracts.archive) if not side.node.balance(account)}
    if empty:
        raise SettingsError(
            f"a request waits for a leader, and this member's account 0x{account.hex()} has no ether on "
            f"chain {' and '.join(map(str, sorted(empty)))}: send it some."
        )
