# SPDX-License-Identifier: Apache-2.0
"""A contract's past events, read once from its node, and kept in a file that outlives what the node prunes.

The file has a line for each reading: the number and the hash of the block that it went up to, and the logs
since the reading before.  While the node has a block of this hash, everything before it is as it was read.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blockful_py.chain.node import Node, hexadecimal
from blockful_py.chain.rpc import RpcError
from blockful_py.errors import NodeError, RunError

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


class ContractLogs:
    """All events of one contract, oldest first."""

    def __init__(
        self, node: Node, address: bytes, decode: Callable[[Log], PastEvent], kept: Path | None = None
    ) -> None:
        """`kept`: the folder of the file; None keeps events in memory only."""
        self._node = node
        self._address = hexadecimal(address)
        self._decode = decode
        self._file = None if kept is None else kept / f"{node.chain_id}-{address.hex()}.jsonl"
        self._loaded = False
        self._lock = threading.Lock()
        self._forget()

    def read(self) -> Sequence[PastEvent]:
        """Up to the node's newest block; a list that only grows, or another list after a reorganisation.

        Raises NodeError when the node is gone or refuses, RunError when the file cannot be written.
        """
        with self._lock:
            self._catch_up()
            return self._events

    def _catch_up(self) -> None:
        if not self._loaded:
            self._load()
        newest, last = self._node.rpc.batch(
            [("eth_getBlockByNumber", (block, False)) for block in ("latest", hex(max(self._block, 0)))]
        )
        if isinstance(newest, RpcError):
            raise NodeError(f"the node at {self._node.url} has no newest block: {newest.message}.")
        if self._block >= 0 and (not isinstance(last, Mapping) or last["hash"] != self._hash):
            self._forget()
            self._write("")
        number = int(newest["number"], 16)
        if number > self._block:
            logs = self._between(self._block + 1, number)
            self._take(number, newest["hash"], logs)
            line = {"block": number, "hash": newest["hash"], "logs": logs}
            self._write(json.dumps(line, separators=(",", ":")) + "\n", mode="a")

    def _forget(self) -> None:
        self._block, self._hash = -1, ""
        self._events: list[PastEvent] = []

    def _take(self, block: int, block_hash: str, logs: Sequence[Log]) -> None:
        self._events += [self._decode(log) for log in logs]
        self._block, self._hash = block, block_hash

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
                raise NodeError(f"the node at {self._node.url} refused to list events: {answer.message}.")
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
