# SPDX-License-Identifier: Apache-2.0
"""Lists a contract's events, with the number that the contract has counted up to the same block.

A load-balanced node may answer from a machine that lags, and leave events out without saying so.  A contract
counts what it emits, so that such an answer is found.
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

LOG_RANGE = 10_000
"""Blocks in one eth_getLogs, unless the node takes fewer."""

Log = Mapping[str, Any]
FIELDS = ("topics", "data", "blockNumber", "transactionHash")
"""Of a log of JSON-RPC, those that are kept."""


@dataclass(frozen=True, slots=True)
class PastEvent:
    """An event of a contract and where it was emitted."""

    name: str
    arguments: Mapping[str, Any]
    block_number: int
    transaction_hash: bytes


@dataclass(frozen=True, slots=True)
class EventCount:
    """How a contract counts its events.

    Attributes:
        function: returns their number.
        event: the only event that it counts; None for all.
    """

    function: str = "eventCount"
    event: str | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """A node's answer about the events of some blocks.

    Attributes:
        logs: oldest first.
        count: how many events the contract had counted up to the last of the blocks.
        before: the block before the first, as JSON-RPC has it; None for none.
    """

    logs: Sequence[Log]
    count: int
    before: Any


class EventList:
    """A contract's events as its node lists them."""

    def __init__(
        self, node: Node, address: bytes, interface: Interface, count: EventCount, since: int = 0
    ) -> None:
        """`since`: a block before which the contract has emitted nothing."""
        self._node = node
        self._since = since
        self._range = LOG_RANGE
        self._address = hexadecimal(address)
        self._interface = interface
        self._count = count

    @property
    def name(self) -> str:
        """Of the contract."""
        return self._interface.name

    def between(self, first: int, last: int) -> Listed:
        """Events of the blocks `first` to `last` (none where that is before `first`), the count as of `last`.

        Raises MissingEventsError where the node refuses either, as one does that lags.
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
        """Of blocks, each as long as the node takes it."""
        return [(start, min(start + self._range - 1, last)) for start in range(first, last + 1, self._range)]

    def _asked(self, ranges: Sequence[tuple[int, int]]) -> list[Request]:
        return [("eth_getLogs", (self._wanted(start, end),)) for start, end in ranges]

    def _logs(self, ranges: Sequence[tuple[int, int]], answers: Sequence[Any]) -> list[Log]:
        """The logs of all ranges; one that is refused is asked for in halves, as the node may limit blocks or
        logs, and so are those after it."""
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
        """Raises MissingEventsError where the node lists another number of events than there are."""
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
        """Raises NodeError for what the contract does not emit."""
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
        """The logs of an answer by their places, each once, as far as they are of these blocks."""
        if isinstance(answer, RpcError):
            self._range = LOG_RANGE  # it is no limit that smaller ranges keep to
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
