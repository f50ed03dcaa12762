# SPDX-License-Identifier: Apache-2.0
"""What the index reads: contracts' events, receipts of their transactions, and files by CID."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from blockful_py.types import Uri

LIVE, ARCHIVE = "live", "archive"
"""Names of the chains, and of the sources that hold the models."""


class ChainEvent(Protocol):
    """An event as a contract logged it; `block_number` is the node's."""

    @property
    def name(self) -> str: ...

    @property
    def arguments(self) -> Mapping[str, Any]: ...

    @property
    def block_number(self) -> int: ...

    @property
    def transaction_hash(self) -> bytes: ...


class EventLog(Protocol):
    """A contract's events."""

    def log(self) -> Sequence[ChainEvent]:
        """All of them, oldest first: a list that only grows, or another one after a reorganisation."""


@dataclass(frozen=True, slots=True)
class SentReceipt:
    """What a transaction cost, and the time of its block in seconds."""

    gas: int
    time: int


class ReceiptSource(Protocol):
    """Receipts of one chain's transactions."""

    def receipts(self, hashes: Sequence[bytes]) -> Sequence[SentReceipt | None]:
        """In the order of `hashes`; None for one that the node no longer has.  Raises NodeError."""


class FileSource(Protocol):
    """Public files by CID: model nodes and requests, of current and of replaced versions."""

    def read_file(self, uri: Uri, limit: int) -> bytes:
        """At most `limit` bytes.  Raises StorageError."""


@dataclass(frozen=True, slots=True)
class SourceLog:
    """A contract's events, and the chain that it is on."""

    name: str
    chain: str
    events: EventLog


@dataclass(frozen=True, slots=True)
class IndexSources:
    """Everything that the index follows from."""

    logs: Sequence[SourceLog]
    receipts: Mapping[str, ReceiptSource]
    files: FileSource
