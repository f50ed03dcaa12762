# SPDX-License-Identifier: Apache-2.0
"""Transactions to send, and their receipts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from blockful_py.chain.interface import Interface
from blockful_py.chain.node import hexadecimal
from blockful_py.types import Receipt


@dataclass(frozen=True, slots=True)
class Call:
    """A transaction to send: a contract call, or a contract creation if `to` is None.

    `gas` is the gas limit; None asks the node for an estimate.  `value` is in wei.  `slots` are storage slots
    that the call is certain to touch; they are declared where that saves gas.
    """

    interface: Interface
    to: bytes | None
    data: bytes
    gas: int | None = None
    value: int = 0
    slots: tuple[int, ...] = ()

    @property
    def what(self) -> str:
        return f"a call of {self.interface.name}" if self.to else f"the deployment of {self.interface.name}"


def to_receipt(call: Call, receipt: Mapping[str, Any]) -> Receipt:
    """Converts a JSON-RPC receipt, with the events of the called contract."""
    events = (call.interface.event(log) for log in receipt["logs"] if _is_from(log, call, receipt))
    return Receipt(
        transaction_hash=bytes.fromhex(receipt["transactionHash"][2:]),
        block_number=int(receipt["blockNumber"], 16),
        gas_used=int(receipt["gasUsed"], 16),
        events=tuple(event for event in events if event is not None),
    )


def _is_from(log: Mapping[str, Any], call: Call, receipt: Mapping[str, Any]) -> bool:
    contract = hexadecimal(call.to) if call.to is not None else receipt["contractAddress"]
    return str(log["address"]).lower() == str(contract).lower()
