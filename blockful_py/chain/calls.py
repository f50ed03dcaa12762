# SPDX-License-Identifier: Apache-2.0
"""Transactions to send: their fees, gas limits, access lists and receipts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from blockful_py.chain.interface import Interface
from blockful_py.chain.node import hexadecimal
from blockful_py.errors import NodeError
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


ESTIMATE_MARGIN = 1.25
"""Factor on estimates, which are made on the state before the transaction's batch."""
MAX_TRANSACTION_GAS = 2**24
"""Maximum gas limit of a transaction under Osaka rules (EIP-7825), regardless of the block's."""
TRANSFER_GAS = 21_000
GWEI = 10**9
DECLARED_ADDRESS, DECLARED_SLOT, LEAST_SAVED = 2_400, 1_900, 100
"""Gas costs and savings of an access list (EIP-2930).

A declared slot saves 100 gas beyond its price if it is read first, and 200 if it is written first (EIP-2929).
"""


def fees(block: Mapping[str, Any], price: int, count: int, most: int | None = None) -> dict[str, int]:
    """EIP-1559 fees if blocks have a base fee, else a legacy gas price; all zero if gas is free.

    The base fee grows by at most 1/8 per block; the fee cap covers `count` full blocks and eight more.
    `price` is the node's proposal; `most` is the maximum in wei per unit of gas.

    Raises NodeError if the network asks for more than `most`.
    """
    base = int(block.get("baseFeePerGas") or "0x0", 16)
    asked = max(price, base)
    if most is not None and asked > most:
        raise NodeError(
            f"the network asks {asked / GWEI:g} gwei for a unit of gas, and chain.max_fee_gwei allows "
            f"{most / GWEI:g}: nothing was sent and nothing is lost. Repeat the command (`blockful resume` "
            "for a job) when it asks for less, or raise max_fee_gwei under `chains` in the run's run.json."
        )
    if block.get("baseFeePerGas") is None:
        return {"gasPrice": price}
    cap = int(base * 1.125 ** min(count + 8, 50)) + asked - base
    return {
        "maxFeePerGas": cap if most is None else min(cap, most),
        "maxPriorityFeePerGas": asked - base,
        "type": 2,
    }


def raised(offer: Mapping[str, int], current: Mapping[str, int], most: int | None) -> dict[str, int] | None:
    """Fees to replace a pending transaction: the current ones, but at least 1/8 above its own.

    Nodes ask for 1/10 more.  None if gas is free, or if the fees would exceed `most`.
    """
    fee = {name: value for name, value in offer.items() if name != "type"}
    if not any(fee.values()):
        return None
    higher = {name: max(value * 9 // 8 + 1, current.get(name, 0)) for name, value in fee.items()}
    if most is not None and max(higher.values()) > most:
        return None
    return {**offer, **higher}


def limit_of(estimate: int) -> int:
    """The estimate plus its margin; the margin never lifts a limit above MAX_TRANSACTION_GAS."""
    return max(estimate, min(int(estimate * ESTIMATE_MARGIN), MAX_TRANSACTION_GAS))


def follower_limit(call: Call, first: Call, limit: int) -> int:
    """Gas limit of a call like `first` (whose limit is `limit`), but for more or fewer models.

    The limit grows with the ratio of their work and never falls, since part of the work is done once per
    call.
    """
    return max(limit, min(limit * _work(call) // _work(first), MAX_TRANSACTION_GAS))


def _work(call: Call) -> int:
    """Work of a call in bytes: call data (some 50 gas per byte to send, hash and log) plus 100 per slot."""
    return len(call.data) + 100 * len(call.slots)


def access_list(call: Call) -> list[dict[str, Any]]:
    """Slots of `call` as an EIP-2930 access list; empty if it would cost more than it saves."""
    if LEAST_SAVED * len(call.slots) <= DECLARED_ADDRESS:
        return []
    keys = [hexadecimal(slot.to_bytes(32)) for slot in call.slots]
    return [{"address": hexadecimal(call.to or b""), "storageKeys": keys}]


def intrinsic_gas(call: Call) -> int:
    """Gas before the first instruction (EIP-2028, EIP-2930, EIP-3860)."""
    data = 16 * len(call.data) - 12 * call.data.count(0)
    creation = 0 if call.to is not None else 32_000 + 2 * ((len(call.data) + 31) // 32)
    declared = sum(DECLARED_ADDRESS + DECLARED_SLOT * len(each["storageKeys"]) for each in access_list(call))
    return TRANSFER_GAS + data + creation + declared
