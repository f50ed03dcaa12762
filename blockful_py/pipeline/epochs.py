# SPDX-License-Identifier: Apache-2.0
"""Epochs of a run's committee whose members are processes of their own: handed over, or elected."""

from __future__ import annotations

from blockful_py.committee.service.key_leader import Generated
from blockful_py.errors import BlockfulError
from blockful_py.pipeline.base import OpenRun
from blockful_py.pipeline.coordination.remote_committee import ReachableMember
from blockful_py.pipeline.coordination.rotation import Pause, Rotated, Tell, a_second, rotate, unheard


class Epochs:
    """Starts the next epoch of an open run's committee, and tells which members answer."""

    def __init__(self, opened: OpenRun) -> None:
        self._opened = opened

    def reachable(self) -> dict[str, ReachableMember | BlockfulError]:
        """The member at each of `committee.members`, or why none answers there."""
        return self._opened.leader.remote().reachable()

    def hand_over(self) -> Generated:
        """Starts a new epoch with the members at `committee.members`, who generate its key.

        Raises QuorumError when too few work.  Goes on where it was when it is made again after a crash.
        """
        _ = self._opened.contracts.appointed
        leader = self._opened.context.leader
        leader.follow()
        return leader.hand_over()

    def rotate(self, pause: Pause | None = None, tell: Tell | None = None) -> Rotated:
        """Has the chain elect the next committee, which generates its key; the archive chain follows.

        `pause` waits between looks at the chain, a second unless given; `tell` hears of each phase.  Goes on
        where it was when it is made again after a crash, by whomever.

        Raises QuorumError when an election cannot be opened yet, is void, or too few of the elected work.
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
