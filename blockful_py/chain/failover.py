# SPDX-License-Identifier: Apache-2.0
"""Uses several nodes of one chain; switches if one does not answer, lags or is on another chain.

A node lags if its newest block is older than one already seen, or more than LAG_BLOCKS behind another node's.
Every switch is logged with its reason.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from blockful_py.chain.rpc import JsonRpc, Request, Rpc, RpcError
from blockful_py.errors import NodeError

LAG_BLOCKS = 5
STILL_SECONDS = 30.0
"""Seconds without a new block from any node before the nodes are compared."""
CATCH_UP_SECONDS = 10.0
"""Seconds that a lagging node is given to catch up if no other is fit."""
PROBE_SECONDS = 3.0
"""Seconds that a node not in use is given to answer."""
PATIENCE = 5.0
"""Seconds during which a rate-limiting node is retried before another is used."""
_PAUSE = 0.2  # seconds

_log = logging.getLogger(__name__)


class Failover(Rpc):
    """JSON-RPC interface of one chain that uses the first fit node until it fails.

    A batch goes to one node, and again to the next if that fails.  This is safe: a signed transaction is
    executed only once.
    """

    def __init__(self, urls: Sequence[str], timeout: float = 120.0, chain_id: int | None = None) -> None:
        """Chooses the first fit node.  Raises NodeError with the fault of each node if all are unfit."""
        self._nodes = [
            (
                JsonRpc(url, timeout, patience=PATIENCE),
                JsonRpc(url, min(timeout, PROBE_SECONDS), patience=PATIENCE),
            )
            for url in urls
        ]
        self._lock = threading.Lock()
        self._at = 0
        self._height = 0
        self._seen_at = time.monotonic()
        self.chain_id = chain_id
        try:
            self._choose({}, self._heights())
        except BaseException:
            self.close()
            raise

    @property
    def url(self) -> str:
        return self._nodes[self._at][0].url

    def batch(self, calls: Sequence[Request]) -> list[Any]:
        if time.monotonic() - self._seen_at > STILL_SECONDS:
            self._compare()
        faults: dict[int, str] = {}
        while True:
            at = self._at
            try:
                answers = self._nodes[at][0].batch(calls)
            except NodeError as error:
                faults[at] = str(error)
                self._switch(at, faults)
                continue
            self._note(max(map(_height, calls, answers), default=0))
            return answers

    def close(self) -> None:
        for pair in self._nodes:
            for rpc in pair:
                rpc.close()

    def leave(self, faults: Mapping[str, str]) -> None:
        with self._lock:
            told = {at: faults[rpc.url] for at, (rpc, _) in enumerate(self._nodes) if rpc.url in faults}
            others = {at: height for at, height in self._heights().items() if at not in told}
            self._choose(told, others)

    def another(self) -> Rpc:
        used, heights = self._at, self._heights()
        others = {at: height for at, height in heights.items() if at != used}
        for at, height in others.items():
            if isinstance(height, int):
                return self._nodes[at][0]
        raise NodeError(
            f"no second node of chain {self.chain_id} can be asked: {' '.join(map(str, others.values()))}"
        )

    def _note(self, height: int) -> None:
        if height > self._height:
            self._height, self._seen_at = height, time.monotonic()

    def _compare(self) -> None:
        """Leaves a node that no longer follows the others."""
        with self._lock:
            self._seen_at = time.monotonic()
            self._choose({}, self._heights(), keep=True)

    def _switch(self, failed: int, faults: Mapping[int, str]) -> None:
        """Chooses among the nodes without a fault; gives lagging nodes time to catch up."""
        with self._lock:
            if self._at != failed:
                return  # another thread has switched
            end = time.monotonic() + CATCH_UP_SECONDS
            while True:
                heights = {at: height for at, height in self._heights().items() if at not in faults}
                behind = any(isinstance(height, int) for height in heights.values())
                try:
                    self._choose(faults, heights)
                    return
                except NodeError:
                    if not behind or time.monotonic() > end:
                        raise
                time.sleep(_PAUSE)

    def _heights(self) -> dict[int, int | str]:
        """Each node's newest block, or why it cannot be used."""
        found: dict[int, int | str] = {}
        for at, (_, probe) in enumerate(self._nodes):
            try:
                chain_id = require_chain(probe, self.chain_id)
                found[at] = int(probe.call("eth_blockNumber"), 16)
                self.chain_id = chain_id
            except NodeError as error:
                found[at] = str(error)
        return found

    def _choose(
        self, faults: Mapping[int, str], heights: Mapping[int, int | str], keep: bool = False
    ) -> None:
        """Chooses the first fit node; with `keep`, the current one if it is fit.  Raises NodeError."""
        newest = max((height for height in heights.values() if isinstance(height, int)), default=0)
        least = max(self._height, newest - LAG_BLOCKS)
        told = dict(faults)
        fit = []
        for at, height in heights.items():
            if isinstance(height, str):
                told[at] = height
            elif height < least:
                told[at] = (
                    f"the node at {self._nodes[at][0].url} lags: its newest block is {height}, and block "
                    f"{max(newest, self._height)} was seen."
                )
            else:
                fit.append(at)
        why = " ".join(told[at] for at in sorted(told))
        if not fit:
            chain = "the chain" if self.chain_id is None else f"chain {self.chain_id}"
            raise NodeError(f"no node of {chain} can be used. {why}")
        chosen = self._at if keep and self._at in fit else fit[0]
        if chosen != self._at or (told and not keep):
            _log.warning("chain %s is read from %s. %s", self.chain_id, self._nodes[chosen][0].url, why)
        self._at = chosen
        self._note(int(heights[chosen]))


def _height(call: Request, answer: Any) -> int:
    """Number of the block whose existence an answer shows; 0 if it shows no block."""
    method, params = call
    shown: Any = None
    if isinstance(answer, RpcError):
        return 0
    if method == "eth_blockNumber":
        shown = answer
    elif isinstance(answer, Mapping):
        if method == "eth_getTransactionReceipt":
            shown = answer.get("blockNumber")
        elif method == "eth_getBlockByNumber" and params[0] == "latest":
            shown = answer.get("number")
    return int(shown, 16) if isinstance(shown, str) else 0


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
