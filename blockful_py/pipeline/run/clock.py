# SPDX-License-Identifier: Apache-2.0
"""Clocks for the times in the record."""

from __future__ import annotations

import time
from collections.abc import Sequence

from blockful_py.chain.node import Node
from blockful_py.chain.turn import turn
from blockful_py.pipeline.run.identities import DEVELOPMENT_CHAINS


class WallClock:
    """The machine's clock, or the chains' time if the machine's clock is behind both."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes

    def now(self) -> int:
        return max(int(time.time()), newest_time(self._nodes))

    def wait_until(self, moment: float) -> None:
        remaining = moment - self.now()
        if remaining > 0:
            time.sleep(remaining)


class LogicalClock:
    """A clock that advances one second per reading and jumps instead of waiting.

    Two runs with one seed thus record the same times, so that they repeat every byte of the record and its
    gas.  For development chains only: the times mean nothing.
    """

    def __init__(self, start: int) -> None:
        self._now = start

    def now(self) -> int:
        self._now += 1
        return self._now

    def wait_until(self, moment: float) -> None:
        self._now = max(self._now, int(moment))


def newest_time(nodes: Sequence[Node]) -> int:
    """Newest block time of the slower chain, since both chains' contracts bound the times."""
    return min(node.timestamp() for node in nodes)


def tick(node: Node) -> None:
    """Mines an empty block on a development node, whose clock stops between transactions."""
    if _is_set_by_us(node):
        with turn(node):
            node.rpc.call("evm_mine")


def skip_to(node: Node, moment: int) -> bool:
    """Sets a development node's clock forward to `moment` (seconds); False for other nodes."""
    if not _is_set_by_us(node):
        return False
    with turn(node):
        node.rpc.call("evm_increaseTime", max(0, moment - node.timestamp()))
        node.rpc.call("evm_mine")
    return True


def _is_set_by_us(node: Node) -> bool:
    return node.chain_id in DEVELOPMENT_CHAINS and node.is_development
