# SPDX-License-Identifier: Apache-2.0
"""A node like a provider's: it limits requests, reports limits in many ways, drops and reorders."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from blockful_py.chain.rpc import RpcError
from tests.relay import Asked, Relay, Reply, answer

CAPACITY = RpcError(429, "Your app has exceeded its compute units per second capacity.")
LIMIT = RpcError(-32_005, "daily request limit reached")
BUSY: Mapping[str, Reply] = {
    "429": Reply({}, 429, {"Retry-After": "0"}),
    "503": Reply("upstream is down", 503),
    "429 with words": Reply(answer(None, CAPACITY), 429),
    "an error": Reply(answer(None, CAPACITY)),
    "an error in a 400": Reply(answer(None, LIMIT), 400),
}
"""Ways in which a node reports too many requests."""


@dataclass
class Habits:
    """A node's limits; unlimited by default.

    Attributes:
        blocks: maximum blocks of one eth_getLogs.
        calls: maximum calls of one HTTP request; more are refused with `status`.
        busy: its answer to every third HTTP request; None disables this.
        drops: whether it drops every fifth connection.
        late: delay of its answers in seconds.
        reorders: whether it reorders the answers of a batch.
    """

    blocks: int | None = None
    calls: int | None = None
    status: int = 200
    busy: Reply | None = None
    drops: bool = False
    late: float = 0.0
    reorders: bool = False


class StrictNode(Relay):
    """A node with habits."""

    def __init__(self, url: str, habits: Habits) -> None:
        super().__init__(url)
        self._habits = habits
        self.refused = 0
        """Number of refused HTTP requests and calls."""
        self._number = 0

    def reply(self, asked: Asked | dict[str, Any]) -> Reply:
        habits = self._habits
        self._number += 1
        time.sleep(habits.late)
        if habits.busy is not None and self._number % 3 == 0:
            self.refused += 1
            return habits.busy
        if habits.drops and self._number % 5 == 0:
            self.refused += 1
            return Reply(None, None)
        calls = asked if isinstance(asked, list) else [asked]
        if habits.calls is not None and len(calls) > habits.calls:
            self.refused += 1
            words = f"batches of more than {habits.calls} calls are not allowed"
            return Reply(answer(None, RpcError(-32_600, words)), habits.status)
        refused = [self._refused(each) for each in calls]
        asked_for = [each for each, error in zip(calls, refused, strict=True) if error is None]
        answers = iter(self.node.rpc.batch([(each["method"], each.get("params", [])) for each in asked_for]))
        found = [
            answer(each["id"], error or next(answers)) for each, error in zip(calls, refused, strict=True)
        ]
        if not isinstance(asked, list):
            return Reply(found[0])
        return Reply(found[::-1] if habits.reorders else found)

    def _refused(self, call: dict[str, Any]) -> RpcError | None:
        if call["method"] != "eth_getLogs" or self._habits.blocks is None:
            return None
        first, last = (int(call["params"][0][key], 16) for key in ("fromBlock", "toBlock"))
        if last - first < self._habits.blocks:
            return None
        self.refused += 1
        return RpcError(-32_000, f"Requested range exceeds the limit of {self._habits.blocks} blocks")
