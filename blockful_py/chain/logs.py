# SPDX-License-Identifier: Apache-2.0
"""A contract's past events: read once, checked against the contract's own count, and stored in a file.

If the node still has the block up to which events were read, with the same hash, all earlier events are
unchanged.  Only settled blocks are read, so a changed block means a reorganisation deeper than the
confirmations.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blockful_py.chain.event_list import EventCount, EventList, Log, PastEvent
from blockful_py.chain.interface import Interface
from blockful_py.chain.log_file import LogFile
from blockful_py.chain.node import Node
from blockful_py.chain.rpc import RpcError
from blockful_py.errors import MissingEventsError, NodeError, ReorganisedError
from blockful_py.types import Address

SPARSE = 1_000
"""Blocks without events after which a line is written all the same: a later process reads on from it."""
TRIES = 4
"""Attempts on a node that omits events: it may lag, or another machine behind its URL may have them."""
PAUSE = 0.25
"""Seconds between attempts."""
ANEW_SECONDS = 60.0
"""Minimum seconds between two futile readings of all blocks."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SettledBlock:
    """A settled block, its hash as JSON-RPC writes it, and the contract's count of events up to it."""

    block: int
    hash: str
    events: int


@dataclass(frozen=True, slots=True)
class _Reading:
    """A block up to which events were read, and the number of events listed by then."""

    block: int
    hash: str
    events: int


@dataclass(frozen=True, slots=True)
class _Fork:
    """The first changed mark: its hash before and now (None if gone), and the last unchanged block."""

    block: int
    was: str
    now: str | None
    unchanged: int


class ContractLogs:
    """All events of one contract, oldest first."""

    def __init__(
        self,
        node: Node,
        address: Address,
        interface: Interface,
        count: EventCount,
        kept: Path | None = None,
        after: SettledBlock | None = None,
        since: int = 0,
    ) -> None:
        """Without `kept`, the folder of the file, events stay in memory only.

        Events are read from the settled block `after` on, into memory, or from the beginning if it is None.
        `since` is as for `EventList`.
        """
        self._node = node
        self._list = EventList(node, address, interface, count, since)
        self._file = LogFile(None if kept is None else kept / f"{node.chain_id}-{address.hex()}.jsonl")
        self._after = after
        self._loaded = after is not None
        self._lock = threading.Lock()
        self._marks: list[_Reading] = [] if after is None else [_Reading(after.block, after.hash, 0)]
        self._events: list[PastEvent] = []
        self._written = -SPARSE
        self._fork: _Fork | None = None
        self._checked = False
        self._anew_from: dict[str, float] = {}

    def read(self) -> Sequence[PastEvent]:
        """Events up to the newest settled block.

        The list only grows, until a reorganisation or the discovery of omitted events replaces it with
        another list.

        Raises NodeError if the node is gone, refuses, lags or omits events, and RunError if the file cannot
        be written.
        """
        with self._lock:
            self._catch_up()
            return self._events

    def mark(self) -> SettledBlock:
        """The block up to which events are read.  Raises as `read`."""
        with self._lock:
            self._catch_up()
            last = self._marks[-1]
            return SettledBlock(last.block, last.hash, self._counted(self._events))

    def require_unchanged(self) -> None:
        """Catches up.  Raises ReorganisedError once if blocks that were already read have changed."""
        with self._lock:
            self._catch_up()
            fork, self._fork = self._fork, None
        if fork is not None:
            raise self._reorganised(fork)

    @property
    def _block(self) -> int:
        return self._marks[-1].block if self._marks else -1

    def _catch_up(self) -> None:
        if not self._loaded:
            self._loaded = True
            self._file.read(self._recall)
        newest = self._node.settled_block()
        if self._checked and newest["hash"] == self._marks[-1].hash:
            return
        faults: dict[str, str] = {}
        while not self._reads_on(newest, faults):
            try:
                self._node.rpc.leave(faults)
            except NodeError as error:
                raise MissingEventsError(str(error)) from None
            newest = self._newest()

    def _newest(self) -> dict[str, Any]:
        self._node.look_again()
        return self._node.settled_block()

    def _reads_on(self, newest: Mapping[str, Any], faults: dict[str, str]) -> bool:
        """Whether the current node lists all events within TRIES attempts; otherwise records its fault."""
        try:
            for _ in range(TRIES - 1):
                with suppress(MissingEventsError):
                    self._extend(newest)
                    return True
                time.sleep(PAUSE)
                newest = self._newest()
            try:
                self._extend(newest)
            except MissingEventsError:
                if not self._may_lack(newest):
                    raise
                self._anew_from[self._node.url] = time.monotonic() + ANEW_SECONDS
                self._read_anew(newest)
        except MissingEventsError as error:
            faults[self._node.url] = str(error)
            return False
        return True

    def _may_lack(self, newest: Mapping[str, Any]) -> bool:
        """Whether to read earlier blocks again because an earlier reading may have missed events.

        True at most once per ANEW_SECONDS, and only if the node has those blocks.
        """
        read_before = len(self._marks) > (self._after is not None)
        if not read_before or time.monotonic() < self._anew_from.get(self._node.url, -math.inf):
            return False
        return int(newest["number"], 16) >= self._block and _is(self._at(self._marks[-1]), self._marks[-1])

    def _extend(self, newest: Mapping[str, Any]) -> None:
        """Adds events of new blocks if the total equals the contract's count."""
        number = int(newest["number"], 16)
        listed = self._list.between(self._block + 1, number)
        if self._marks and not _is(listed.before, self._marks[-1]):
            self._rewind(listed.before)
            self._extend(newest)
            return
        if number < self._block:
            return  # no new blocks
        events = [self._list.decoded(log) for log in listed.logs]
        found = self._counted(self._events) + self._list.counted(events)
        self._list.require_all(found, listed.count, number)
        if number > self._block:
            if events or number >= self._written + SPARSE:
                self._file.add(number, newest["hash"], listed.logs)
                self._written = number
            self._add(number, newest["hash"], events)
        self._checked = True

    def _read_anew(self, newest: Mapping[str, Any]) -> None:
        """Reads all blocks again, since the earlier reading may lack events."""
        after, number = self._after, int(newest["number"], 16)
        listed = self._list.between(0 if after is None else after.block + 1, number)
        events = [self._list.decoded(log) for log in listed.logs]
        self._list.require_all(self._counted(events), listed.count, number)
        self._file.replace(number, newest["hash"], listed.logs)
        self._written = number
        _log.warning(
            "%s lacked %d of %d events: all were read anew from %s.",
            *(self._list.name, len(events) - len(self._events), len(events), self._node.url),
        )
        self._events, self._marks = [], [] if after is None else self._marks[:1]
        self._add(number, newest["hash"], events)
        self._checked = True

    def _counted(self, events: Sequence[PastEvent]) -> int:
        """The contract's count of events, provided that these are all the events read."""
        before = 0 if self._after is None else self._after.events
        return before + self._list.counted(events)

    def _rewind(self, last: Any) -> None:
        """Discards everything read after the last mark that is still on the chain.

        Raises MissingEventsError if the chain of a node other than a development node is shorter: it lags.
        """
        if not isinstance(last, Mapping) and not self._node.is_development:
            raise MissingEventsError(
                f"the node at {self._node.url} does not have block {self._block} of chain "
                f"{self._node.chain_id}, which was read before{_why(last)}: it lags. Wait until it "
                "has caught up, or use another node of this chain."
            )
        last_mark = len(self._marks) - 1
        standing = bisect_left(
            self._marks, True, hi=last_mark, key=lambda mark: not _is(self._at(mark), mark)
        )
        first = self._marks[standing]
        now = self._at(first)
        unchanged = self._marks[standing - 1] if standing else _Reading(-1, "", 0)
        if self._fork is None or first.block < self._fork.block:
            found = str(now["hash"]) if isinstance(now, Mapping) else None
            self._fork = _Fork(first.block, first.hash, found, unchanged.block)
        self._marks, self._events = self._marks[:standing], self._events[: unchanged.events]
        self._file.keep_up_to(unchanged.block)
        self._written = min(self._written, unchanged.block)

    def _at(self, mark: _Reading) -> Any:
        return self._node.rpc.batch([("eth_getBlockByNumber", (hex(mark.block), False))])[0]

    def _reorganised(self, fork: _Fork) -> ReorganisedError:
        before = f"block {fork.unchanged}" if fork.unchanged >= 0 else "its beginning"
        return ReorganisedError(
            f"chain {self._node.chain_id} was reorganised deeper than chain.confirmations = "
            f"{self._node.confirmations}: block {fork.block} is the first known one that changed "
            f"(it was {fork.was} and is {fork.now or 'gone'}); the chain is unchanged up to {before}. "
            "Later blocks are read again. Run `blockful verify` to find what is missing, and `blockful "
            "resume` where a job is unfinished. Raise chain.confirmations if it may recur."
        )

    def _recall(self, block: int, block_hash: str, logs: Sequence[Log]) -> None:
        """Restores the events of a line of the file."""
        self._written = block
        if block > self._block:
            new = [log for log in logs if int(log["blockNumber"], 16) > self._block]
            self._add(block, block_hash, [self._list.decoded(log) for log in new])

    def _add(self, block: int, block_hash: str, events: Sequence[PastEvent]) -> None:
        """Adds a mark, which replaces the last one if no events came with either."""
        marks, count = self._marks, len(self._events)
        if not events and len(marks) > 1 and marks[-2].events == count:
            marks.pop()
        self._events += events
        marks.append(_Reading(block, block_hash, len(self._events)))


def _is(block: Any, mark: _Reading) -> bool:
    return isinstance(block, Mapping) and block["hash"] == mark.hash


def _why(answer: Any) -> str:
    return f" ({answer.message})" if isinstance(answer, RpcError) else ""
