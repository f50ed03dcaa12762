# SPDX-License-Identifier: Apache-2.0
"""Looks again for a transaction that a node has accepted and cannot show yet."""

from __future__ import annotations

import time
from typing import Any

from web3.middleware import Web3Middleware
from web3.types import MakeRequestFn, RPCEndpoint, RPCResponse

LOOKUPS = frozenset({"eth_getTransactionByHash", "eth_getTransactionReceipt"})
PAUSE_S = 0.01
ASLEEP_S = 3.0
LOST_S = 15.0


class Patience(Web3Middleware):
    """Looks a transaction up until it is found, for LOST_S seconds.

    Anvil counts a transaction shortly before it has the receipt, and brownie considers a counted but missing
    transaction dropped.  A busy Anvil can also leave a transaction waiting until the next one comes; after
    ASLEEP_S seconds it is told to mine.
    """

    def wrap_make_request(self, make_request: MakeRequestFn) -> MakeRequestFn:
        def ask(method: RPCEndpoint, params: Any) -> RPCResponse:
            answer = make_request(method, params)
            if method not in LOOKUPS:
                return answer
            start, woken = time.monotonic(), False
            while answer.get("result") is None and (waited := time.monotonic() - start) < LOST_S:
                if waited > ASLEEP_S and not woken:
                    make_request(RPCEndpoint("evm_mine"), [])
                    woken = True
                time.sleep(PAUSE_S)
                answer = make_request(method, params)
            return answer

        return ask
