# SPDX-License-Identifier: Apache-2.0
"""A load-balanced node: some of its answers come from a machine that lacks events, or lags."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from blockful_py.chain.node import Node, hexadecimal
from blockful_py.chain.rpc import Request, Rpc, RpcError
from tests.relay import Asked, Relay, Reply, answer


@dataclass
class Losses:
    """Wrong answers of the node; none by default.

    Attributes:
        contract: contract whose events are left out, 20 bytes, or None.
        left: maximum number of remaining events in an answer.
        answers: number of answers that lack events; None for all.
        lost: number of such answers so far.
        height: the newest block of the machine that answers about contracts; None if it does not lag.
    """

    contract: bytes | None = None
    left: int = 0
    answers: int | None = None
    lost: int = 0
    height: int | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def leave_out(self, contract: bytes, left: int = 0, answers: int | None = None) -> None:
        """Leaves events out from now on; a negative `left` is the number of omitted ones."""
        self.contract, self.left, self.answers, self.lost = contract, left, answers, 0

    def mend(self) -> None:
        """Makes all answers right again."""
        self.contract = self.height = None

    def asked(self, method: str, params: Sequence[Any]) -> list[Any]:
        """The question to ask the machine instead."""
        if method == "eth_call" and self.height is not None and params[1] == "latest":
            return [params[0], hex(self.height)]
        return [*params]

    def answered(self, method: str, params: Sequence[Any], result: Any) -> Any:
        """The answer to give instead."""
        if self.height is not None:
            if method == "eth_call" and params[1] != "latest" and int(params[1], 16) > self.height:
                return RpcError(-32_000, "header not found")
            if method == "eth_getLogs":
                return [log for log in result if int(log["blockNumber"], 16) <= self.height]
        if method != "eth_getLogs" or not result or self.contract is None:
            return result
        with self._lock:
            wanted = str(params[0]["address"]).lower() == hexadecimal(self.contract)
            if not wanted or self.lost == self.answers:
                return result
            self.lost += 1
        return result[: self.left]


class LossyRpc(Rpc):
    """The interface of another node, with losses."""

    def __init__(self, rpc: Rpc, losses: Losses) -> None:
        self._rpc = rpc
        self._losses = losses
        self.requests: list[list[str]] = []
        """Methods of each batch."""

    @property
    def url(self) -> str:
        return self._rpc.url

    def batch(self, calls: Sequence[Request]) -> list[Any]:
        self.requests.append([method for method, _ in calls])
        answers = self._rpc.batch([(method, self._losses.asked(method, params)) for method, params in calls])
        return [self._losses.answered(*call, answer) for call, answer in zip(calls, answers, strict=True)]

    def close(self) -> None:
        """Leaves the other node open."""


def lossy(node: Node) -> tuple[Node, Losses]:
    """The node with lost events, and the list of these events."""
    losses = Losses()
    return Node(LossyRpc(node.rpc, losses), node.chain_id, node.confirmations), losses


class LossyNode(Relay):
    """The same as a server, for clients that need the node's URL."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.losses = Losses()
        self._rpc = LossyRpc(self.node.rpc, self.losses)

    def reply(self, asked: Asked | dict[str, Any]) -> Reply:
        calls = asked if isinstance(asked, list) else [asked]
        answers = self._rpc.batch([(each["method"], each.get("params", [])) for each in calls])
        found = [answer(each["id"], result) for each, result in zip(calls, answers, strict=True)]
        return Reply(found if isinstance(asked, list) else found[0])
