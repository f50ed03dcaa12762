# SPDX-License-Identifier: Apache-2.0
"""Alarms on the home chain: proposals that members refused, with their reasons."""

from __future__ import annotations

from dataclasses import dataclass

from blockful_py.chain.alarm_registry import AlarmRegistryContract
from blockful_py.types import Bytes32


@dataclass(frozen=True, slots=True)
class RaisedAlarm:
    """An alarm on the chain; `member` is a voting address."""

    epoch: int
    proposal: Bytes32
    member: bytes
    reason: str


def raised_alarms(registry: AlarmRegistryContract) -> tuple[RaisedAlarm, ...]:
    """All alarms of all epochs, oldest first."""
    alarms = [event.arguments for event in registry.events("AlarmRaised")]
    return tuple(RaisedAlarm(a["epoch"], a["proposal"], a["member"], a["reason"]) for a in alarms)
