# SPDX-License-Identifier: Apache-2.0
"""A node that has pruned the events of old blocks and refuses searches there, like Geth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blockful_py.chain.node import Node
from blockful_py.chain.rpc import Request, Rpc, RpcError


class PruningRpc(Rpc):
    """The interface of another node, without the events of blocks up to `pruned`."""

    def __init__(self, rpc: Rpc, pruned: int) -> None:
        self._rpc = rpc
        self._pruned = pruned

    @property
    def url(self) -> str:
        return self._rpc.url

    def batch(self, calls: Sequence[Request]) -> list[Any]:
        answers = self._rpc.batch(calls)
        return [self._refused(*call) or answer for call, answer in zip(calls, answers, strict=True)]

    def close(self) -> None:
        """Leaves the other node open."""

    def _refused(self, method: str, params: Sequence[Any]) -> RpcError | None:
        if method != "eth_getLogs" or int(params[0]["fromBlock"], 16) > self._pruned:
            return None
        return RpcError(4444, "pruned history unavailable")


def pruned(node: Node, block: int) -> Node:
    """The node as if it had pruned the events up to a block."""
    return Node(PruningRpc(node.rpc, block), node.chain_id, node.confirmations)
