# SPDX-License-Identifier: Apache-2.0
"""Formats alarms for the output of commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from blockful_py.pipeline.alarms import RaisedAlarm


def documents(alarms: Sequence[RaisedAlarm]) -> list[dict[str, int | str]]:
    """One JSON document for each alarm."""
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
    """One line of text for each alarm."""
    return [
        f"ALARM epoch {alarm.epoch}, proposal 0x{alarm.proposal.hex()[:8]}, "
        f"member 0x{alarm.member.hex()}: {alarm.reason}"
        for alarm in alarms
    ]
