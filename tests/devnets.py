# SPDX-License-Identifier: Apache-2.0
"""What tests do to a development chain behind its contracts' backs, on Ganache and on Anvil."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from blockful_py.chain.node import Node, hexadecimal


def set_balance(node: Node, account: bytes, wei: int) -> None:
    method = "evm_setAccountBalance" if node.is_ganache else "anvil_setBalance"
    node.rpc.call(method, hexadecimal(account), hex(wei))


def set_slot(node: Node, contract: bytes, slot: int, word: int) -> None:
    """Writes 32 bytes of a contract's storage."""
    method = "evm_setAccountStorageAt" if node.is_ganache else "anvil_setStorageAt"
    assert node.rpc.call(method, hexadecimal(contract), f"0x{slot:064x}", f"0x{word:064x}")


def set_code(node: Node, contract: bytes, code: bytes) -> None:
    """Replaces the code of a contract."""
    method = "evm_setAccountCode" if node.is_ganache else "anvil_setCode"
    node.rpc.call(method, hexadecimal(contract), hexadecimal(code))


@contextmanager
def not_mining(node: Node) -> Iterator[None]:
    """Transactions wait, and are mined afterwards, unless they were dropped."""
    if node.is_ganache:
        node.rpc.call("miner_stop")
    else:
        node.rpc.call("evm_setAutomine", False)
    try:
        yield
    finally:
        if node.is_ganache:
            node.rpc.call("miner_start")
        else:
            node.rpc.call("evm_setAutomine", True)
            node.wake()


def drop_waiting(node: Node) -> None:
    """Has the node forget the transactions that wait."""
    if node.is_ganache:
        assert node.rpc.call("evm_revert", node.rpc.call("evm_snapshot"))
    else:
        node.rpc.call("anvil_dropAllTransactions")
