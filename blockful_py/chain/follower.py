# SPDX-License-Identifier: Apache-2.0
"""Follows a chain for all parties of one machine: they ask the follower, and it asks the node once.

It speaks JSON-RPC.  An answer serves everybody until the chain has a new block, and `latest` is the newest
block that the follower has seen.  Calls that depend on more than blocks go to the node unchanged.  Parties
trust it as they trust a node: they hold events against the contracts' counts all the same.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from blockful_py.chain.rpc import Request, Rpc, RpcError
from blockful_py.errors import NodeError

LOOK_SECONDS = 1.0
"""Time for which one look at the chain serves."""
MAX_ANSWERS = 20_000
"""Maximum number of kept answers."""
THREADS = 8
"""Maximum number of simultaneous requests to the node."""

_READS = frozenset(
    {
        "eth_blockNumber",
        "eth_call",
        "eth_chainId",
        "eth_getBalance",
        "eth_getBlockByHash",
        "eth_getBlockByNumber",
        "eth_getCode",
        "eth_getLogs",
        "eth_getProof",
        "eth_getStorageAt",
        "eth_getTransactionReceipt",
        "web3_clientVersion",
    }
)
"""Methods whose answers depend on the blocks alone."""
_AT_BLOCK = frozenset({"eth_call", "eth_getBalance", "eth_getBlockByNumber", "eth_getCode"})
"""Methods that ask at `latest`; the node is asked at that block's number."""
_UNSETTLED = ("pending", "safe", "finalized")
"""Blocks that may change while `latest` does not."""
_LOOK: Request = ("eth_getBlockByNumber", ("latest", False))


class ChainFollower:
    """Answers the calls of one chain, on one event loop."""

    def __init__(self, rpc: Rpc) -> None:
        self._rpc = rpc
        self._threads = ThreadPoolExecutor(THREADS)
        self._looking = asyncio.Lock()
        self._look_ends = -math.inf
        self._ended = 0
        self._head = {"hash": "", "number": ""}
        self._kept: dict[str, asyncio.Future[Any]] = {}

    async def batch(self, calls: Sequence[Request]) -> list[Any]:
        """Results in the order of the calls, with an RpcError for each refused one.

        Raises NodeError if the node is gone.
        """
        if not all(map(_is_read, calls)):
            try:
                return await self._asked(calls)
            finally:
                self._end_look()
                if any(not method.startswith("eth_") for method, _ in calls):
                    self._head, self._kept = {"hash": "", "number": ""}, {}  # a development node was told so
        await self._look()
        kept, missing, answers = self._kept, dict[str, Request](), []
        for call in map(self._at_head, calls):
            name = json.dumps(call)
            if name not in kept:
                kept[name], missing[name] = asyncio.Future(), call
            answers.append(kept[name])
        if missing:
            await asyncio.shield(self._fetch(missing, kept))
        found = [await each for each in answers]
        if any(map(self._is_ahead, found)):
            self._end_look()
            await self._look()
        return found

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)
        self._rpc.close()

    async def _look(self) -> None:
        """Looks at the chain, unless the last look still serves."""
        async with self._looking:
            if time.monotonic() < self._look_ends:
                return
            ended = self._ended
            [head] = await self._asked([_LOOK])
            if not isinstance(head, dict):
                raise NodeError(f"the node at {self._rpc.url} has no newest block.")
            if head["hash"] != self._head["hash"] or len(self._kept) > MAX_ANSWERS:
                self._head, self._kept = head, {}
                for call, answer in ((_LOOK, head), (("eth_blockNumber", ()), head["number"])):
                    self._kept[json.dumps(self._at_head(call))] = future = asyncio.Future[Any]()
                    future.set_result(answer)
            if ended == self._ended:
                self._look_ends = time.monotonic() + LOOK_SECONDS

    def _end_look(self) -> None:
        """Has the next question look again, also if a look is under way that may have begun too early."""
        self._look_ends = -math.inf
        self._ended += 1

    def _is_ahead(self, answer: Any) -> bool:
        """Whether an answer is a receipt of a block above `latest`, whose effects nobody could read yet."""
        number = answer.get("blockNumber") if isinstance(answer, dict) else None
        return isinstance(number, str) and int(number, 16) > int(self._head["number"], 16)

    def _at_head(self, call: Request) -> Request:
        """The call at the number of the newest block, if it asks at `latest`."""
        method, params = call
        if method not in _AT_BLOCK:
            return call
        return method, [self._head["number"] if each == "latest" else each for each in params]

    async def _fetch(self, missing: Mapping[str, Request], kept: dict[str, asyncio.Future[Any]]) -> None:
        """Has the node answer, for all who wait for these answers; keeps none that is an error."""
        waiting = {name: kept[name] for name in missing}
        answers: Sequence[Any]
        try:
            answers = await self._asked(list(missing.values()))
        except NodeError as error:
            answers = [error] * len(missing)
        for (name, future), answer in zip(waiting.items(), answers, strict=True):
            if isinstance(answer, NodeError | RpcError):
                del kept[name]
            if isinstance(answer, NodeError):
                future.set_exception(answer)
            else:
                future.set_result(answer)

    async def _asked(self, calls: Sequence[Request]) -> list[Any]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._rpc.batch, calls)


def _is_read(call: Request) -> bool:
    method, params = call
    return method in _READS and not any(each in _UNSETTLED for each in params)
