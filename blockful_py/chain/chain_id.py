# SPDX-License-Identifier: Apache-2.0
"""The chain id of a node."""

from __future__ import annotations

from blockful_py.chain.rpc import Rpc, RpcError
from blockful_py.errors import NodeError

RETURN_CHAIN_ID = "0x4660005260206000f3"
"""Creation code that returns the result of opcode CHAINID (32 bytes)."""


def require_chain(rpc: Rpc, expected: int | None) -> int:
    """Returns the chain id, which the RPC and the contracts must agree on.

    Signatures are bound to the chain id that contracts see (opcode CHAINID).

    Raises NodeError if the node does not answer, is not an Ethereum node, or is on another chain than
    `expected`.
    """
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
            f"{rpc.url} is not a usable Ethereum node: it reports {told!r} as its chain id."
        ) from None
    if told != seen:
        raise NodeError(
            f"the node at {rpc.url} reports chain id {told}, but its contracts see {seen}: "
            "start it with the same chain id and network id."
        )
    if expected not in (None, told):
        raise NodeError(
            f"the node at {rpc.url} is on chain {told}, but chain {expected} was expected: "
            "use the URL of a node of that chain, or change the chain id in the settings."
        )
    return int(told)
