# SPDX-License-Identifier: Apache-2.0
"""Alarms: members record on the home chain what they refused, and why (Algorithm 1, lines 15 to 21)."""

from __future__ import annotations

from blockful_py.committee.service.folder import MemberFolder
from blockful_py.committee.service.outbox import Alarm, Clerk
from blockful_py.crypto import signature
from blockful_py.member.office import MemberOffice


class AlarmDuty:
    """Sends the alarms that this member noted, each once, from its own account."""

    name = "alarm"

    def __init__(self, office: MemberOffice, folder: MemberFolder, clerk: Clerk) -> None:
        self._office = office
        self._folder = folder
        self._clerk = clerk

    def step(self) -> None:
        for alarm in self._clerk.alarms():
            if not alarm.raised:
                self._raise(alarm)
                self._clerk.raised(alarm)

    def _raise(self, alarm: Alarm) -> None:
        """Alarms of an epoch that is over are dropped: the contract takes them no longer."""
        committee, ballot = self._office.world().contracts.committee, alarm.ballot
        place = (committee.chain_id, committee.address, committee.current_epoch())
        if (ballot.chain_id, ballot.committee, ballot.epoch) != place:
            return
        index = self._office.seat(ballot.epoch).member.index - 1
        if committee.alarms(ballot.epoch, ballot.proposal) >> index & 1:
            return
        digest = committee.alarm_digest(ballot.epoch, ballot.proposal, alarm.reason)
        signed = signature.sign(self._folder.voting_secret, digest)
        committee.alarm(ballot.epoch, ballot.proposal, alarm.reason, index, signed)
