# SPDX-License-Identifier: Apache-2.0
"""The id of the chain that a node is on."""

from __future__ import annotations

from blockful_py.chain.rpc import Rpc, RpcError
from blockful_py.errors import NodeError

RETURN_CHAIN_ID = "0x4660005260206000f3"
"""Creation code that returns the 32 bytes of opcode CHAINID."""


def require_chain(rpc: Rpc, expected: int | None) -> int:
    """The id that RPC and contracts give.

    Signatures are bound to the chain that contracts see (opcode CHAINID), so the RPC's id must be the same.

    Raises NodeError when nothing answers, it is no Ethereum node, or it is on another chain than `expected`.
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
            f"{rpc.url} is not a usable Ethereum node: it told {told!r} as its chain id."
        ) from None
    if told != seen:
        raise NodeError(
            f"the node at {rpc.url} tells chain id {told}, but its contracts see {seen}: "
            "start it with the same chain id and network id."
        )
    if expected not in (None, told):
        raise NodeError(
            f"the node at {rpc.url} is on chain {told}, chain {expected} was expected: "
            "use the URL of a node of that chain, or change the chain id in the settings."
        )
    return int(told)
