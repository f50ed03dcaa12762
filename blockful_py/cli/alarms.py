# SPDX-License-Identifier: Apache-2.0
"""Alarms as commands show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from blockful_py.pipeline.alarms import RaisedAlarm


def documents(alarms: Sequence[RaisedAlarm]) -> list[dict[str, int | str]]:
    """For JSON."""
    return [
        {
            "epoch": alarm.epoch,
            "proposal": "0x" + alarm.proposal.hex(),
            "member": "0x" + alarm.member.hex(),
            "reason": alarm.reason,
        }
        for alarm in alarms
    ]


def lines(alarms: Sequence[RaisedAlarm]) -> list[str]:
    """For people."""
    return [
        f"ALARM epoch {alarm.epoch}, proposal 0x{alarm.proposal.hex()[:8]}, "
        f"member 0x{alarm.member.hex()}: {alarm.reason}"
        for alarm in alarms
    ]
