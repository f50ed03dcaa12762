# SPDX-License-Identifier: Apache-2.0
"""A contract's past events, read once from its node, and kept in a file that outlives what the node prunes.

The file has a line for each reading: the number and the hash of the block that it went up to, and the logs
since the reading before.  While the node has a block of this hash, everything before it is as it was read.
Only settled blocks are read, so that one which has changed was reorganised deeper than the confirmations.
"""

from __future__ import annotations

import json
import threading
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blockful_py.chain.node import Node, hexadecimal
from blockful_py.chain.reverts import pruned
from blockful_py.chain.rpc import RpcError
from blockful_py.errors import NodeError, ReorganisedError, RunError

LOG_RANGE = 10_000
"""Blocks in one eth_getLogs: the maximum of public nodes."""

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
class SettledBlock:
    """A settled block of a node's chain; the hash as JSON-RPC writes it."""

    block: int
    hash: str


@dataclass(frozen=True, slots=True)
class _Reading:
    """A block that events were read up to, and the number of events."""

    block: int
    hash: str
    events: int


@dataclass(frozen=True, slots=True)
class _Fork:
    """The first mark that changed: its hash before and now (None: gone), the last unchanged one."""

    block: int
    was: str
    now: str | None
    unchanged: int


class ContractLogs:
    """All events of one contract, oldest first."""

    def __init__(
        self,
        node: Node,
        address: bytes,
        decode: Callable[[Log], PastEvent],
        kept: Path | None = None,
        after: SettledBlock | None = None,
    ) -> None:
        """`kept`: the folder of the file; None keeps events in memory only.  `after`: settled block of the
        node from which on events are read, into memory; None reads all."""
        self._node = node
        self._address = hexadecimal(address)
        self._decode = decode
        self._file = None if kept is None else kept / f"{node.chain_id}-{address.hex()}.jsonl"
        self._loaded = after is not None
        self._lock = threading.Lock()
        self._marks: list[_Reading] = [] if after is None else [_Reading(after.block, after.hash, 0)]
        self._events: list[PastEvent] = []
        self._fork: _Fork | None = None

    def read(self) -> Sequence[PastEvent]:
        """Up to the newest settled block; a list that only grows, or another list after a reorganisation.

        Raises NodeError when the node is gone, refuses or lags, RunError when the file cannot be written.
        """
        with self._lock:
            self._catch_up()
            return self._events

    def mark(self) -> tuple[SettledBlock, int]:
        """The block that events are read up to, and how many there are by then.  Raises as `read`."""
        with self._lock:
            self._catch_up()
            last = self._marks[-1]
            return SettledBlock(last.block, last.hash), last.events

    def require_unchanged(self) -> None:
        """Reads on.  Raises ReorganisedError, once, when blocks changed that events had been read up to."""
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
            self._load()
        newest, last = self._node.rpc.batch(
            [
                ("eth_getBlockByNumber", (block, False))
                for block in (self._node.settled(), hex(max(self._block, 0)))
            ]
        )
        if not isinstance(newest, Mapping):
            raise NodeError(f"the node at {self._node.url} has no newest block{_why(newest)}.")
        if self._marks and not _is(last, self._marks[-1]):
            self._rewind(last)
        number = int(newest["number"], 16)
        if number > self._block:
            logs = self._between(self._block + 1, number)
            self._take(number, newest["hash"], logs)
            line = {"block": number, "hash": newest["hash"], "logs": logs}
            self._write(json.dumps(line, separators=(",", ":")) + "\n", mode="a")

    def _rewind(self, last: Any) -> None:
        """Throws away what was read beyond the last mark that the chain still has.

        Raises NodeError where the chain of a node other than a development one is shorter, as it lags then.
        """
        if not isinstance(last, Mapping) and not self._node.is_development:
            raise NodeError(
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
        if self._file is not None and self._file.exists():
            lines = self._file.read_text().splitlines()
            self._write("".join(f"{line}\n" for line in lines if _block_of(line) <= unchanged.block))

    def _at(self, mark: _Reading) -> Any:
        return self._node.rpc.batch([("eth_getBlockByNumber", (hex(mark.block), False))])[0]

    def _reorganised(self, fork: _Fork) -> ReorganisedError:
        before = f"block {fork.unchanged}" if fork.unchanged >= 0 else "its beginning"
        return ReorganisedError(
            f"chain {self._node.chain_id} was reorganised deeper than chain.confirmations = "
            f"{self._node.confirmations}: block {fork.block} is the first of those noted that changed "
            f"(it was {fork.was} and is {fork.now or 'gone'}); up to {before} it is as it was. What was "
            "read beyond that is read again. Run `blockful verify` to find what is missing, and `blockful "
            "resume` where a job is unfinished. Raise chain.confirmations if it may recur."
        )

    def _take(self, block: int, block_hash: str, logs: Sequence[Log]) -> None:
        self._events += [self._decode(log) for log in logs]
        self._marks.append(_Reading(block, block_hash, len(self._events)))

    def _between(self, first: int, last: int) -> list[Log]:
        ranges = [(start, min(start + LOG_RANGE - 1, last)) for start in range(first, last + 1, LOG_RANGE)]
        answers = self._node.rpc.batch(
            [
                (
                    "eth_getLogs",
                    ({"address": self._address, "fromBlock": hex(start), "toBlock": hex(end)},),
                )
                for start, end in ranges
            ]
        )
        logs: list[Log] = []
        for answer in answers:
            if isinstance(answer, RpcError):
                raise NodeError(
                    f"the node at {self._node.url} refused to list events: {answer.message}.{pruned(answer)}"
                )
            logs += [{field: log[field] for field in FIELDS} for log in answer]
        return logs

    def _load(self) -> None:
        """Lines of processes that read at the same time may overlap; one that was cut short is removed."""
        self._loaded = True
        try:
            lines = self._file.read_text(errors="replace").splitlines() if self._file else []
        except OSError:
            return
        for number, line in enumerate(lines):
            try:
                entry = json.loads(line)
                logs = [log for log in entry["logs"] if int(log["blockNumber"], 16) > self._block]
                if entry["block"] > self._block:
                    self._take(entry["block"], entry["hash"], logs)
            except (ValueError, KeyError, TypeError, NodeError):
                self._write("".join(f"{whole}\n" for whole in lines[:number]))
                return

    def _write(self, text: str, mode: str = "w") -> None:
        if self._file is None:
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open(mode) as file:
                file.write(text)
        except OSError as error:
            raise RunError(f"{self._file} cannot be written: {error.strerror}; make room for it.") from None


def _is(block: Any, mark: _Reading) -> bool:
    return isinstance(block, Mapping) and block["hash"] == mark.hash


def _block_of(line: str) -> int:
    return int(json.loads(line)["block"])


def _why(answer: Any) -> str:
    return f" ({answer.message})" if isinstance(answer, RpcError) else ""
