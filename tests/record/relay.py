# SPDX-License-Identifier: Apache-2.0
"""A contract that forwards every call, like a contract wallet."""

from __future__ import annotations

import pytest

from blockful_py.chain.archive_registry import ArchiveRegistryContract
from blockful_py.chain.calls import Call
from blockful_py.chain.contract import Contract
from blockful_py.chain.live_chain import LiveChainContract
from blockful_py.chain.sender import Sender

CODE = bytes.fromhex(
    "60203603"  # size = calldatasize - 32
    "8060205f37"  # calldatacopy(0, 32, size)
    "5f5f825f5f5f355af1"  # call(gas, calldataload(0), 0, 0, size, 0, 0)
    "601c573d5f5f3e3d5ffd5b00"  # forwards the error of a refused call
)
CREATION = bytes.fromhex("601e8060095f395ff3") + CODE


def through_relays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of the live chain and of the archive go through relays."""
    relays: dict[int, bytes] = {}

    def call(self: Contract, data: bytes, value: int = 0) -> Call:
        if self.chain_id not in relays:
            relays[self.chain_id] = _deployed(self._payer, self)
        return Call(self.interface, relays[self.chain_id], bytes(12) + self.address + data, value=value)

    for kind in (LiveChainContract, ArchiveRegistryContract):
        monkeypatch.setattr(kind, "_call", call)


def _deployed(sender: Sender, contract: Contract) -> bytes:
    receipt = sender.send(Call(contract.interface, None, CREATION))
    found = sender.node.rpc.call("eth_getTransactionReceipt", "0x" + receipt.transaction_hash.hex())
    address = bytes.fromhex(found["contractAddress"][2:])
    assert sender.node.code(address) == CODE
    return address
