# SPDX-License-Identifier: Apache-2.0
"""Protocols of the chains and the store; `chain` and `storage` implement them structurally."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from blockful_py.types import (
    Address,
    ArchiveRecord,
    Bytes32,
    Header,
    HeaderUpdate,
    ModelTransaction,
    NewBlock,
    Position,
    StoredArchiveRecord,
    Update,
    Uri,
)

MAX_BLOCK_MODELS = 128
"""Equals LiveChain.MAX_BLOCK_TRANSACTIONS."""


class LiveReader(Protocol):
    """The live chain, as model verification reads it."""

    @property
    def chain_id(self) -> int: ...

    @property
    def address(self) -> Address:
        """Address of the LiveChain contract, 20 bytes."""

    def height(self) -> int: ...

    def block_hash(self, height: int) -> Bytes32: ...

    def headers(self, heights: Sequence[int]) -> Sequence[Header]: ...

    def transactions(self, positions: Sequence[Position]) -> Sequence[ModelTransaction]: ...


class LiveLedger(LiveReader, Protocol):
    """The live chain, as a member reads it."""

    def header(self, height: int) -> Header: ...

    def transaction(self, position: Position) -> ModelTransaction: ...

    def append_leaf(self, block: NewBlock, chunk: int, chunks: int) -> bytes:
        """Leaf of `append(block)` in a certificate's content (IQuorum.Action)."""

    def redact_leaf(
        self, updates: Sequence[Update], header_updates: Sequence[HeaderUpdate], chunk: int, chunks: int
    ) -> bytes:
        """Leaf of `redact(updates, header_updates)` in a certificate's content."""


class ArchiveLedger(Protocol):
    """The archive chain, as a member reads it."""

    @property
    def chain_id(self) -> int: ...

    @property
    def address(self) -> Address:
        """Address of the ArchiveRegistry contract, 20 bytes."""

    def length(self) -> int: ...

    def head(self) -> Bytes32: ...

    def records(self, start: int, count: int) -> Sequence[StoredArchiveRecord]: ...

    def append_leaf(
        self,
        expected_head: Bytes32,
        timestamp: int,
        records: Sequence[ArchiveRecord],
        chunk: int,
        chunks: int,
    ) -> bytes:
        """Leaf of `append(expected_head, timestamp, records)` in a certificate's content."""

    def progress(self, proposal: Bytes32) -> tuple[int, int]:
        """Executed and total chunks; (0, 0) before the first."""


class Store(Protocol):
    """Content-addressed storage; every read is verified against its address."""

    def add(self, data: bytes) -> Uri: ...

    def read(self, uri: Uri, limit: int) -> bytes: ...

    def stream(self, uri: Uri, limit: int, begin: int = 0) -> Iterator[bytes]: ...

    def prefetch(self, uris: Iterable[Uri]) -> None: ...

    def has(self, uri: Uri) -> bool: ...

    def delete(self, *uris: Uri) -> None: ...


def require_whole(store: Store, uri: Uri, limit: int) -> None:
    """Reads all of a file, and keeps none of it.  Raises StorageError or FormatError as `Store.stream`."""
    for _ in store.stream(uri, limit):
        pass
