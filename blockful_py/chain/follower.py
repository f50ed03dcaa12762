# SPDX-License-Identifier: Apache-2.0
"""Follows a chain for all parties of one machine: they ask the follower, and it asks the node once.

It speaks the node's JSON-RPC.  An answer serves everybody until the chain has a new block; one that depends
on `latest` serves as long as a look at the chain.  All else goes to the node unchanged.  Parties trust it as
they trust a node: they hold events against the contracts' counts all the same.
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

LOOK_SECONDS = 0.5
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
_MOVING = ('"latest"', '"safe"', '"finalized"')
_LOOK: Request = ("eth_getBlockByNumber", ("latest", False))


class ChainFollower:
    """Answers the calls of one chain, on one event loop."""

    def __init__(self, rpc: Rpc) -> None:
        self._rpc = rpc
        self._threads = ThreadPoolExecutor(THREADS)
        self._looking = asyncio.Lock()
        self._look_ends = -math.inf
        self._head = ""
        self._of_head: dict[str, asyncio.Future[Any]] = {}
        self._of_look: dict[str, asyncio.Future[Any]] = {}

    async def batch(self, calls: Sequence[Request]) -> list[Any]:
        """Results in the order of the calls, with an RpcError for each refused one.

        Raises NodeError if the node is gone.
        """
        texts = [json.dumps(call) for call in calls]
        if not all(map(_is_read, calls, texts)):
            try:
                return await self._asked(calls)
            finally:
                self._look_ends = -math.inf
        await self._look()
        missing: dict[str, Request] = {}
        answers = []
        for call, text in zip(calls, texts, strict=True):
            kept = self._kept(text)
            if text not in kept:
                kept[text], missing[text] = asyncio.Future(), call
            answers.append(kept[text])
        if missing:
            await asyncio.shield(self._fetch(missing))
        return [await each for each in answers]

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)
        self._rpc.close()

    async def _look(self) -> None:
        """Looks at the chain, unless the last look still serves."""
        async with self._looking:
            if time.monotonic() < self._look_ends:
                return
            [head] = await self._asked([_LOOK])
            if not isinstance(head, dict):
                raise NodeError(f"the node at {self._rpc.url} has no newest block.")
            if head["hash"] != self._head or len(self._of_head) > MAX_ANSWERS:
                self._head, self._of_head = head["hash"], {}
            self._of_look = {}
            for call, answer in ((_LOOK, head), (("eth_blockNumber", ()), head["number"])):
                text = json.dumps(call)
                self._kept(text)[text] = future = asyncio.Future[Any]()
                future.set_result(answer)
            self._look_ends = time.monotonic() + LOOK_SECONDS

    def _kept(self, text: str) -> dict[str, asyncio.Future[Any]]:
        """Where the answer to a call is kept."""
        return self._of_look if any(each in text for each in _MOVING) else self._of_head

    async def _fetch(self, missing: Mapping[str, Request]) -> None:
        """Has the node answer, for all who wait for these answers; keeps none that is an error."""
        places = [(text, self._kept(text)) for text in missing]
        waiting = [kept[text] for text, kept in places]
        answers: Sequence[Any]
        try:
            answers = await self._asked(list(missing.values()))
        except NodeError as error:
            answers = [error] * len(missing)
        for (text, kept), future, answer in zip(places, waiting, answers, strict=True):
            if isinstance(answer, NodeError | RpcError):
                del kept[text]
            if isinstance(answer, NodeError):
                future.set_exception(answer)
            else:
                future.set_result(answer)

    async def _asked(self, calls: Sequence[Request]) -> list[Any]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._rpc.batch, calls)


def _is_read(call: Request, text: str) -> bool:
    return call[0] in _READS and '"pending"' not in text
