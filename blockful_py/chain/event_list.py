# SPDX-License-Identifier: Apache-2.0
"""Lists a contract's events and compares their number with the contract's own count.

A load-balanced node may answer from a machine that lags and silently omit events.  The count, read at the
same block, reveals that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from blockful_py.chain.interface import Interface
from blockful_py.chain.node import Node, hexadecimal
from blockful_py.chain.reverts import pruned
from blockful_py.chain.rpc import Request, RpcError
from blockful_py.errors import MissingEventsError, NodeError
from blockful_py.types import Address, Bytes32

LOG_RANGE = 10_000
"""Blocks per eth_getLogs, unless the node accepts fewer."""

Log = Mapping[str, Any]
FIELDS = ("topics", "data", "blockNumber", "transactionHash")
"""Fields of a JSON-RPC log that are kept."""


@dataclass(frozen=True, slots=True)
class PastEvent:
    """An event of a contract and its place on the chain."""

    name: str
    arguments: Mapping[str, Any]
    block_number: int
    transaction_hash: Bytes32


@dataclass(frozen=True, slots=True)
class EventCount:
    """How a contract counts its events.

    Attributes:
        function: function that returns the count.
        event: the only event that is counted; None counts all.
    """

    function: str = "eventCount"
    event: str | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """A node's answer about the events of some blocks.

    Attributes:
        logs: oldest first.
        count: number of events that the contract had emitted by the last of the blocks.
        before: the block before the first one, as JSON-RPC returns it, or None.
    """

    logs: Sequence[Log]
    count: int
    before: Any


class EventList:
    """A contract's events as its node lists them."""

    def __init__(
        self, node: Node, address: Address, interface: Interface, count: EventCount, since: int = 0
    ) -> None:
        """Prepares to list events from block `since` on; the contract emitted nothing earlier."""
        self._node = node
        self._since = since
        self._range = LOG_RANGE
        self._address = hexadecimal(address)
        self._interface = interface
        self._count = count

    @property
    def name(self) -> str:
        """Name of the contract."""
        return self._interface.name

    def between(self, first: int, last: int) -> Listed:
        """Events of blocks `first` to `last` (empty if `last` < `first`), and the count as of `last`.

        Raises MissingEventsError if the node refuses either request, as a lagging node does.
        """
        ranges = self._ranges(max(first, self._since), last)
        data = hexadecimal(self._interface.encode(self._count.function))
        before, counted, *answers = self._node.rpc.batch(
            [
                ("eth_getBlockByNumber", (hex(max(first - 1, 0)), False)),
                ("eth_call", ({"to": self._address, "data": data}, hex(last))),
                *self._asked(ranges),
            ]
        )
        count = self._number(counted, last)
        return Listed(self._logs(ranges, answers), count, before)

    def _ranges(self, first: int, last: int) -> list[tuple[int, int]]:
        """Block ranges of the maximum size that the node accepts."""
        return [(start, min(start + self._range - 1, last)) for start in range(first, last + 1, self._range)]

    def _asked(self, ranges: Sequence[tuple[int, int]]) -> list[Request]:
        return [("eth_getLogs", (self._wanted(start, end),)) for start, end in ranges]

    def _logs(self, ranges: Sequence[tuple[int, int]], answers: Sequence[Any]) -> list[Log]:
        """Logs of all ranges.

        A refused range is split in half, as the node may limit blocks or logs; later ranges use the smaller
        size.
        """
        logs: list[Log] = []
        for answer, (start, end) in zip(answers, ranges, strict=True):
            if isinstance(answer, RpcError) and end > start:
                self._range = min(self._range, (end - start + 1) // 2)
                halves = self._ranges(start, end)
                logs += self._logs(halves, self._node.rpc.batch(self._asked(halves)))
            else:
                logs += self._sorted(answer, start, end)
        return logs

    def counted(self, events: Sequence[PastEvent]) -> int:
        """How many of these events the contract counts."""
        only = self._count.event
        return len(events) if only is None else sum(event.name == only for event in events)

    def require_all(self, found: int, count: int, block: int) -> None:
        """Checks the node's number of events against the contract's count.

        Raises MissingEventsError if they differ.
        """
        if found == count:
            return
        events = "events" if self._count.event is None else f"{self._count.event} events"
        raise MissingEventsError(
            f"the node at {self._node.url} lists {found} {events} of {self._interface.name} at "
            f"{self._address} up to block {block}, and the contract has counted {count}: the node lags, or "
            f"has lost some. Its answer is not used. Name another node of chain {self._node.chain_id} beside "
            "this one or instead of it, or wait until this one lists them all."
        )

    def decoded(self, log: Log) -> PastEvent:
        """Decodes a log.  Raises NodeError if the contract does not emit such an event."""
        found = self._interface.event(log)
        if found is None:
            raise NodeError(
                f"the node at {self._node.url} sent a log that {self._interface.name} does not emit."
            )
        name, arguments = found
        block = int(log["blockNumber"], 16)
        return PastEvent(name, arguments, block, bytes.fromhex(log["transactionHash"][2:]))

    def _wanted(self, first: int, last: int) -> dict[str, str]:
        return {"address": self._address, "fromBlock": hex(first), "toBlock": hex(last)}

    def _sorted(self, answer: Any, first: int, last: int) -> list[Log]:
        """Logs of an answer sorted by place, without duplicates and logs of other blocks."""
        if isinstance(answer, RpcError):
            self._range = LOG_RANGE  # smaller ranges did not help
            raise MissingEventsError(
                f"the node at {self._node.url} refused to list events: {answer.message}.{pruned(answer)}"
            )
        places: dict[tuple[int, int], Log] = {}
        try:
            for log in answer:
                block = int(log["blockNumber"], 16)
                if first <= block <= last and str(log["address"]).lower() == self._address:
                    places[block, int(log["logIndex"], 16)] = {field: log[field] for field in FIELDS}
        except (TypeError, KeyError, ValueError) as error:
            raise NodeError(
                f"the node at {self._node.url} answered with no list of events ({error}): use another one."
            ) from None
        return [places[place] for place in sorted(places)]

    def _number(self, answer: Any, block: int) -> int:
        if isinstance(answer, RpcError):
            raise MissingEventsError(
                f"the node at {self._node.url} does not say how many events {self._interface.name} has "
                f"emitted up to block {block}: {answer.message}.{pruned(answer)}"
            )
        number: int = self._interface.decode(self._count.function, bytes.fromhex(answer[2:]))
        return number
