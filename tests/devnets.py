# SPDX-License-Identifier: Apache-2.0
"""Manipulates chains behind their contracts' backs: on Ganache, on Anvil and on an embedded one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from blockful_py.chain.node import Node, hexadecimal


def set_balance(node: Node, account: bytes, wei: int) -> None:
    method = "anvil_setBalance" if _is_anvil(node) else "evm_setAccountBalance"
    node.rpc.call(method, hexadecimal(account), hex(wei))


def set_slot(node: Node, contract: bytes, slot: int, word: int) -> None:
    """Writes 32 bytes of a contract's storage, and ends in a new block."""
    method = "anvil_setStorageAt" if _is_anvil(node) else "evm_setAccountStorageAt"
    assert node.rpc.call(method, hexadecimal(contract), f"0x{slot:064x}", f"0x{word:064x}")
    _mine_altered(node)


def set_code(node: Node, contract: bytes, code: bytes) -> None:
    """Replaces the code of a contract, and ends in a new block."""
    method = "anvil_setCode" if _is_anvil(node) else "evm_setAccountCode"
    node.rpc.call(method, hexadecimal(contract), hexadecimal(code))
    _mine_altered(node)


def _mine_altered(node: Node) -> None:
    """Makes a block with the altered state: Anvil alters its newest block, other nodes add one."""
    if _is_anvil(node):
        node.rpc.call("evm_mine")


def _is_anvil(node: Node) -> bool:
    return node.client.startswith("anvil")


@contextmanager
def not_mining(node: Node) -> Iterator[None]:
    """Keeps transactions waiting; they are mined afterwards, unless they were dropped.

    Skips the test on an embedded chain, where transactions never wait.
    """
    if node.client.startswith("embedded"):
        pytest.skip("on an embedded chain no transaction ever waits")
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
    """Has the node forget the waiting transactions."""
    if node.is_ganache:
        assert node.rpc.call("evm_revert", node.rpc.call("evm_snapshot"))
    else:
        node.rpc.call("anvil_dropAllTransactions")
