# SPDX-License-Identifier: Apache-2.0
"""A running node whose chain id was checked."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from blockful_py.chain.rpc import JsonRpc, RpcError
from blockful_py.errors import NodeError

RETURN_CHAIN_ID = "0x4660005260206000f3"
"""Creation code that returns the 32 bytes of opcode CHAINID."""


class Node:
    """A node and its chain id; made by `connect`."""

    def __init__(self, rpc: JsonRpc, chain_id: int) -> None:
        self.rpc = rpc
        self.chain_id = chain_id

    @property
    def url(self) -> str:
        return self.rpc.url

    @cached_property
    def client(self) -> str:
        """Name and version of the software, in lower case: `ganache/v7...`, `anvil/v1...`, `besu/v24...`."""
        return str(self.rpc.call("web3_clientVersion")).lower()

    @property
    def is_ganache(self) -> bool:
        return self.client.startswith("ganache")

    def block_number(self) -> int:
        return int(self.rpc.call("eth_blockNumber"), 16)

    def timestamp(self) -> int:
        """Seconds of the newest block."""
        return int(self.latest_block()["timestamp"], 16)

    def latest_block(self) -> dict[str, Any]:
        block: dict[str, Any] = self.rpc.call("eth_getBlockByNumber", "latest", False)
        return block

    def code(self, address: bytes) -> bytes:
        """Runtime code of a contract; empty when there is none."""
        return bytes.fromhex(self.rpc.call("eth_getCode", hexadecimal(address), "latest")[2:])

    def balance(self, address: bytes) -> int:
        """Wei of an account."""
        return int(self.rpc.call("eth_getBalance", hexadecimal(address), "latest"), 16)

    def wake(self) -> bool:
        """Makes an auto-mining Anvil mine its pending transactions; does nothing on other nodes.

        A busy Anvil can leave transactions that arrive while it mines pending until the next one arrives.
        """
        asleep = self.client.startswith("anvil") and self.rpc.call("anvil_getAutomine") is True
        if asleep:
            self.rpc.call("evm_mine")
        return asleep

    def close(self) -> None:
        self.rpc.close()

    def __repr__(self) -> str:
        return f"Node({self.url!r}, chain_id={self.chain_id})"


def connect(
    url: str,
    expected_chain_id: int | None = None,
    timeout: float = 120.0,
    diagnosis: Callable[[], str | None] | None = None,
) -> Node:
    """Connects to a running node and checks which chain it is on.

    The id that contracts see (opcode CHAINID) must equal the RPC's, or signatures bound to a chain would
    fail.

    Raises:
        NodeError: nothing answers, it is not an Ethereum node, or it is on another chain.
    """
    rpc = JsonRpc(url, timeout, diagnosis)
    try:
        chain_id = _chain_id(rpc)
        if expected_chain_id not in (None, chain_id):
            raise NodeError(
                f"the node at {url} is on chain {chain_id}, chain {expected_chain_id} was expected: "
                "use the URL of a node of that chain, or change the chain id in the settings."
            )
    except NodeError:
        rpc.close()
        raise
    return Node(rpc, chain_id)


def hexadecimal(value: bytes | int) -> str:
    """`0x...`, as JSON-RPC writes bytes and quantities."""
    return hex(value) if isinstance(value, int) else "0x" + value.hex()


def _chain_id(rpc: JsonRpc) -> int:
    told, seen = rpc.batch(
        [("eth_chainId", ()), ("eth_call", ({"data": RETURN_CHAIN_ID, "gas": "0x186a0"}, "latest"))]
    )
    for answer in (told, seen):
        if isinstance(answer, RpcError):
            raise NodeError(f"{rpc.url} is not a usable Ethereum node: {answer.message}.")
    try:
        told, seen = int(told, 16), int(seen, 16)
    except (TypeError, ValueError):
        raise NodeError(
            f"{rpc.url} is not a usable Ethereum node: it told {told!r} as its chain id."
        ) from None
    if told != seen:
        raise NodeError(
            f"the node at {rpc.url} tells chain id {told}, but its contracts see {seen}: "
            "start it with the same chain id and network id."
        )
    return told
