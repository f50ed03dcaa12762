# SPDX-License-Identifier: Apache-2.0
"""Sources of the index: contracts' events, receipts of their transactions, and files by CID."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from blockful_py.record.events import LoggedEvent
from blockful_py.types import Uri

LIVE, ARCHIVE = "live", "archive"
"""Names of the chains, and of the contracts that store the models."""


class ChainEvent(LoggedEvent, Protocol):
    """An event as a contract logged it; `block_number` is a block of the node."""

    @property
    def block_number(self) -> int: ...


class EventLog(Protocol):
    """A contract's events."""

    def log(self) -> Sequence[ChainEvent]:
        """All events, oldest first; the list only grows, except that a reorganisation replaces it."""


@dataclass(frozen=True, slots=True)
class SentReceipt:
    """Gas of a transaction, and the time of its block in seconds."""

    gas: int
    time: int


class ReceiptSource(Protocol):
    """Receipts of one chain's transactions."""

    def receipts(self, hashes: Sequence[bytes]) -> Sequence[SentReceipt | None]:
        """Receipts in the order of `hashes`; None if the node no longer has one.  Raises NodeError."""


class FileSource(Protocol):
    """Public files by CID: model nodes and requests, of current and replaced versions."""

    def read_file(self, uri: Uri, limit: int) -> bytes:
        """Reads at most `limit` bytes.  Raises StorageError."""


@dataclass(frozen=True, slots=True)
class SourceLog:
    """A contract's events, and its chain."""

    name: str
    chain: str
    events: EventLog


@dataclass(frozen=True, slots=True)
class IndexSources:
    """Everything from which the index is built."""

    logs: Sequence[SourceLog]
    receipts: Mapping[str, ReceiptSource]
    files: FileSource
