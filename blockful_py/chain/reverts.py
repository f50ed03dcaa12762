# SPDX-License-Identifier: Apache-2.0
"""Extracts the reason of a refused call or transaction from the answers of different nodes.

Anvil, Besu, Geth   {"code": 3, "message": "execution reverted...", "data": "0x..."}
Ganache, eth_call   {"code": -32000, "message": "VM Exception...: revert", "data": "0x..."}
Ganache, others     {..., "data": {"hash": "0x...", "result" or "reason": "0x...", ...}}
"""

from __future__ import annotations

from typing import Any

from blockful_py.chain.interface import Interface
from blockful_py.chain.rpc import RpcError
from blockful_py.errors import ChainError, ContractError, NodeError

OUT_OF_GAS = "OutOfGas"
_SPENT = ("out of gas", "outofgas", "oog")
"""Substrings of errors for exhausted gas; Anvil has `MemoryOOG` and others."""
_SIGNS = ("revert", "vm exception", "invalid opcode", "stack")
_PRUNED = (
    "prun",
    "missing trie node",
    "world state unavailable",
    "historical state",
    "state is not available",
)
"""Substrings of errors by which Geth, Besu, Nethermind, Erigon and Reth report pruned data."""


def refusal(error: RpcError, interface: Interface, url: str, what: str) -> ChainError:
    """The exception for a node's refusal of `what`."""
    data = revert_data(error.data)
    text = error.message.lower()
    if data:
        return interface.error(data)
    if any(sign in text for sign in _SPENT):
        return ContractError(interface.name, OUT_OF_GAS, {})
    if data is not None or any(sign in text for sign in _SIGNS):
        return interface.error(b"")
    if "insufficient funds" in text or "enough funds" in text:
        return NodeError(f"the account cannot pay for {what} ({error.message}): send it some funds.")
    return NodeError(f"the node at {url} refused {what}: {error.message} (code {error.code}).{pruned(error)}")


def pruned(error: RpcError) -> str:
    """Advice for a node that pruned old events or states; empty for other errors."""
    if not any(sign in error.message.lower() for sign in _PRUNED):
        return ""
    return (
        " It has pruned the requested data: give the URL of an archive node, or copy the folder `events` of "
        "a run or member that read it earlier. `blockful verify --since` needs nothing from before its "
        "checkpoint."
    )


def revert_data(data: Any) -> bytes | None:
    """Revert data anywhere in an error's `data`; None if it has no revert data."""
    if isinstance(data, str):
        try:
            return bytes.fromhex(data.removeprefix("0x")) if data.startswith("0x") else None
        except ValueError:
            return None
    if isinstance(data, dict):
        for key in ("result", "return", "data", "originalError"):
            if key in data and (nested := revert_data(data[key])) is not None:
                return nested
    return None
