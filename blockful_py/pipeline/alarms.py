# SPDX-License-Identifier: Apache-2.0
"""Alarms on the home chain: what members refused, and why."""

from __future__ import annotations

from dataclasses import dataclass

from blockful_py.chain.quorum import HomeCommitteeContract


@dataclass(frozen=True, slots=True)
class RaisedAlarm:
    """An alarm as the chain has it; `member` is a voting address."""

    epoch: int
    proposal: bytes
    member: bytes
    reason: str


def raised_alarms(committee: HomeCommitteeContract) -> tuple[RaisedAlarm, ...]:
    """Every alarm of every epoch, oldest first."""
    found = [event.arguments for event in committee.events("AlarmRaised")]
    return tuple(RaisedAlarm(a["epoch"], a["proposal"], a["member"], a["reason"]) for a in found)
