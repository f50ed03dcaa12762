# SPDX-License-Identifier: Apache-2.0
"""Fees, gas limits and access lists of transactions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blockful_py.chain.calls import Call
from blockful_py.chain.node import hexadecimal

ESTIMATE_MARGIN = 1.25
"""Factor on an estimate, which is made on the state before the batch that the transaction is in."""
TRANSFER_GAS = 21_000
DECLARED_ADDRESS, DECLARED_SLOT, LEAST_SAVED = 2_400, 1_900, 100
"""Of an access list (EIP-2930); a slot that is read first saves 100 beyond its price, one that is written
first 200 (EIP-2929)."""


def fees(block: Mapping[str, Any], price: int, count: int) -> dict[str, int]:
    """EIP-1559 fees where blocks have a base fee, else a legacy gas price.

    The base fee grows by at most 1/8 a block; the cap covers `count` full blocks and eight more.
    """
    if block.get("baseFeePerGas") is None:
        return {"gasPrice": price}
    base = int(block["baseFeePerGas"], 16)
    tip = max(price - base, 0)
    cap = int(base * 1.125 ** min(count + 8, 50)) + tip
    return {"maxFeePerGas": cap, "maxPriorityFeePerGas": tip, "type": 2}


def access_list(call: Call) -> list[dict[str, Any]]:
    """The slots of `call` as EIP-2930 declares them; empty where that would cost more than it saves."""
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
