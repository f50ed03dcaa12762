# SPDX-License-Identifier: Apache-2.0
"""Brings the archive chain to the committee in force, if nobody else has done so."""

from __future__ import annotations

import time
from collections.abc import Callable

from blockful_py.chain.committee import CommitteeContract
from blockful_py.committee.service.folder import MemberFolder
from blockful_py.committee.succession import Acknowledgement
from blockful_py.member.finishing import rank
from blockful_py.member.office import MemberOffice

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
