# SPDX-License-Identifier: Apache-2.0
"""Epochs of a committee whose members are separate processes, appointed by handover or elected."""

from __future__ import annotations

from blockful_py.committee.service.key_leader import Generated
from blockful_py.errors import BlockfulError
from blockful_py.pipeline.coordination.remote_committee import ReachableMember, members_at
from blockful_py.pipeline.coordination.rotation import Pause, Rotated, Tell, a_second, rotate, unheard
from blockful_py.pipeline.operated import OperatedRun
from blockful_py.pipeline.run.accounts import provide


class Epochs:
    """Starts the next epoch of an open run's committee and lists its reachable members."""

    def __init__(self, opened: OperatedRun) -> None:
        self._opened = opened

    def reachable(self, needed: int | None = None) -> dict[str, ReachableMember | BlockfulError]:
        """The member at each URL of `committee.members`, or the error of reaching it.

        All are asked at once.  Once `needed` have answered, the others get as much time again plus a second.
        """
        return self._opened.leader.remote().reachable(needed)

    def fund(self) -> tuple[bytes, ...]:
        """Funds the empty accounts of reachable members on development chains; returns those accounts."""
        nodes, interface = self._opened.nodes, self._opened.contracts.live.interface
        senders = {id(node): node for node in (nodes.live_sender, nodes.archive_sender)}.values()
        funded = []
        for account in (each.identity.account for each in members_at(self.reachable())):
            given = [provide(sender, interface, account) for sender in senders]
            funded += [account] * any(given)
        return tuple(funded)

    def hand_over(self) -> Generated:
        """Starts a new epoch with the members at `committee.members`, who generate its key.

        A repeated call after a crash continues.  Raises QuorumError when too few members are available.
        """
        _ = self._opened.contracts.appointed
        leader = self._opened.context.leader
        leader.follow()
        return leader.hand_over()

    def rotate(self, pause: Pause | None = None, tell: Tell | None = None) -> Rotated:
        """Has the chain elect the next committee, which generates its key; the archive chain follows.

        `pause` waits between two looks at the chain, by default a second; `tell` is called for each phase.  A
        repeated call after a crash continues, from any process.  Raises QuorumError when an election cannot
        be opened yet or is void, or too few of the elected are available.
        """
        opened = self._opened
        _ = opened.contracts.elected
        rotated, contracts = rotate(
            opened.run,
            opened.nodes,
            opened.contracts,
            opened.leader.remote(),
            pause or a_second,
            tell or unheard,
        )
        opened.renew(contracts)
        return rotated
