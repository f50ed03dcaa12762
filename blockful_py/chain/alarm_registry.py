# SPDX-License-Identifier: Apache-2.0
"""Alarms of both committees on the home chain (IAlarmRegistry)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from blockful_py.chain.contract import Contract
from blockful_py.crypto import eip712
from blockful_py.crypto.eip712 import typed
from blockful_py.types import Bytes32, Bytes64, Receipt


@dataclass(frozen=True, slots=True)
class Alarm:
    """The struct that a member signs to raise an alarm."""

    epoch: int = typed("uint64")
    proposal: Bytes32 = typed("bytes32")
    reason: str = typed("string")


class AlarmRegistryContract(Contract):
    """Adapter of AlarmRegistry.  Every method raises NodeError if the node fails."""

    NAME: ClassVar[str] = "AlarmRegistry"

    def quorum(self) -> bytes:
        """Address of the committee whose members raise alarms."""
        return self._octets("quorum")

    def alarms(self, epoch: int, proposal: Bytes32) -> int:
        """Bitmap of alarms: bit i is set if member i raised one."""
        return self._number("alarms", epoch, proposal)

    def digest(self, domain: eip712.Domain, epoch: int, proposal: Bytes32, reason: str) -> Bytes32:
        """The digest that a member signs to raise an alarm; `domain` is the committee's EIP-712 domain."""
        return eip712.digest(domain, Alarm(epoch, proposal, reason))

    def alarm(self, epoch: int, proposal: Bytes32, reason: str, index: int, signature: Bytes64) -> Receipt:
        """Records why the member at `index` refused; `signature` is 64 bytes over `digest`.

        Raises ContractError AlarmOutOfEpoch, ReasonLength, InvalidAlarm, AlarmRepeated or TooManyAlarms.
        """
        return self._send("alarm", epoch, proposal, reason, index, signature)
