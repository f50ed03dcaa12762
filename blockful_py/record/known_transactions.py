# SPDX-License-Identifier: Apache-2.0
"""Reads the transactions of a live chain; rereads only new or replaced ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from blockful_py.bounded_json import parse_json
from blockful_py.errors import NodeError, RunError
from blockful_py.record.chain_readers import LiveChainReader
from blockful_py.types import Codec, ModelTransaction, Opening, Position, Uri
from blockful_py.whole_file import write_whole

SHARE = 10
"""The file is rewritten when it lacks more than one in this many transactions.

It has two lines: the SHA-256 of the second, and height, block hash and transactions as JSON.
"""


class KnownTransactions:
    """Reads a live chain's transactions.

    A block's hash covers all blocks before it, and every replacement is logged, so all other transactions are
    unchanged since they were read.  Models of a partly executed decision are reread until it is settled.
    """

    def __init__(self, live: LiveChainReader, kept: Path | None = None) -> None:
        """Reads the chain; `kept` is the folder of a file for later processes, None for memory only."""
        self._live = live
        self._file = (
            None if kept is None else kept / f"{live.chain_id}-{live.address.hex()}.transactions.json"
        )
        self._tip: tuple[int, bytes] = (0, b"")
        self._known: dict[Position, ModelTransaction] = {}
        self._unsaved = 0
        self._recall()

    def read(self) -> Sequence[ModelTransaction]:
        """All transactions, by position.  Raises NodeError if the contract's state lags behind its events."""
        live, (height, tip) = self._live, self._tip
        logged = {each.position: each.version for each in (*live.published(), *live.redactions())}
        newest = live.height()
        if newest < height or (height and live.block_hash(height) != tip):
            height, self._known = 0, {}
        wanted = [*self._changed(logged), *self._places(logged, range(height + 1, newest + 1))]
        self._known.update(zip(wanted, live.transactions(wanted), strict=True))
        behind = [
            place
            for place, version in logged.items()
            if place not in self._known or self._known[place].version < version
        ]
        if behind:
            raise NodeError(
                f"the node at {live.url} has version {logged[behind[0]]} of the model at {behind[0]} in the "
                "live chain's events, and not in its state: it lags. Wait until it has caught up, or use "
                "another node of this chain."
            )
        self._tip = (newest, live.block_hash(newest) if newest else b"")
        self._remember(len(wanted))
        return tuple(self._known.values())

    def _changed(self, logged: Mapping[Position, int]) -> list[Position]:
        """Positions whose logged version differs from the version read before, or was not settled."""
        return sorted(
            place
            for place, known in self._known.items()
            if known.version != logged.get(place, 0) or not known.settled
        )

    def _places(self, logged: Mapping[Position, int], heights: range) -> list[Position]:
        """Positions of all transactions in some blocks, by the log, or by the headers of newer blocks."""
        found = [place for place in logged if place.height in heights]
        known = {place.height for place in found}
        headers = self._live.headers([height for height in heights if height not in known])
        unlogged = [Position(each.height, index) for each in headers for index in range(each.tx_count)]
        return sorted([*found, *unlogged])

    def _recall(self) -> None:
        """Reads the file; a missing or damaged one is written anew later."""
        if self._file is None:
            return
        with suppress(OSError, ValueError, TypeError):
            digest, _, data = self._file.read_bytes().partition(b"\n")
            if digest == _digest(data):
                height, tip, rows = parse_json(data)
                known = [_transaction(*row) for row in rows]
                self._tip, self._known = (height, bytes.fromhex(tip)), {each.position: each for each in known}

    def _remember(self, count: int) -> None:
        self._unsaved += count
        if self._file is not None and self._unsaved * SHARE > len(self._known):
            (height, tip), rows = self._tip, [_row(each) for each in self._known.values()]
            data = json.dumps([height, tip.hex(), rows], separators=(",", ":")).encode()
            with suppress(RunError):  # a later process then reads them from the chain
                write_whole(self._file, _digest(data) + b"\n" + data, parents=True)
            self._unsaved = 0


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()


def _row(transaction: ModelTransaction) -> list[Any]:
    """A row of the file, in the order of `ModelTransaction`."""
    opening, uri = transaction.opening, transaction.uri
    return [
        transaction.position.packed,
        hex(transaction.ch),
        None if opening is None else [hex(opening.px), hex(opening.s)],
        [uri.digest.hex(), int(uri.codec)],
        transaction.version,
        transaction.epoch,
        transaction.owner.hex(),
        transaction.settled,
        [each.packed for each in transaction.references],
    ]


def _transaction(
    place: int,
    ch: str,
    opening: list[str] | None,
    uri: list[Any],
    version: int,
    epoch: int,
    owner: str,
    settled: bool,
    references: list[int],
) -> ModelTransaction:
    digest, kind = uri
    return ModelTransaction(
        Position.unpack(place),
        int(ch, 16),
        None if opening is None else Opening(*(int(each, 16) for each in opening)),
        Uri(bytes.fromhex(digest), Codec(kind)),
        version,
        epoch,
        bytes.fromhex(owner),
        settled,
        tuple(map(Position.unpack, references)),
    )
