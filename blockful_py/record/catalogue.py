# SPDX-License-Identifier: Apache-2.0
"""The current models on the live chain, by name, and their inheritance graph."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from blockful_py.committee.protocols import LiveLedger, Store
from blockful_py.crypto import payload
from blockful_py.errors import RunError, UnknownModelError
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.record.certificates.verifying import ArchiveChainSource
from blockful_py.record.events import LoggedVersion
from blockful_py.record.model_node import ModelNode, PlacedNode, Request, parse_node
from blockful_py.types import Header, ModelTransaction, Position, StoredArchiveRecord, Uri


class LoggedRedaction(LoggedVersion, Protocol):
    """A replacement of a model as the live chain logged it."""

    @property
    def block_number(self) -> int: ...


class LiveChainReader(LiveLedger, Protocol):
    """The live chain by way of a node."""

    def newest_block(self) -> str:
        """Hash of the node's newest block: while it is the same, so is what the contract says."""

    def published(self) -> Sequence[LoggedVersion]:
        """Version 0 of every model, oldest first."""

    def redactions(self) -> Sequence[LoggedRedaction]:
        """Every replacement, oldest first."""


class ArchiveChainReader(ArchiveChainSource, Protocol):
    """The archive chain by way of a node."""

    def newest_block(self) -> str:
        """Hash of the node's newest block."""

    def head(self) -> bytes:
        """Head of the hash chain over all records."""


@dataclass(frozen=True)
class Catalogue:
    """Models by name in the order of their positions, and their inheritance graph."""

    models: Mapping[str, PlacedNode]
    graph: InheritanceGraph

    def __getitem__(self, name: str) -> PlacedNode:
        """Raises UnknownModelError, which lists the known names."""
        if name not in self.models:
            raise UnknownModelError(name, tuple(self.models))
        return self.models[name]

    @cached_property
    def with_weights(self) -> Mapping[str, PlacedNode]:
        """The models that are not withdrawn."""
        return {name: placed for name, placed in self.models.items() if not placed.node.is_withdrawn}

    def references(self) -> dict[str, tuple[str, ...]]:
        """Names of the references of every model."""
        return {name: self.graph.references(name) for name in self.models}

    @classmethod
    def read(cls, live: LiveChainReader, store: Store) -> Catalogue:
        """Reads every transaction and its node, verified against its CID.

        Raises StorageError when a node cannot be read, RunError when two models share a name.
        """
        return cls.of(all_transactions(live), lambda uri: parse_node(store.read(uri)))

    @classmethod
    def of(cls, transactions: Iterable[ModelTransaction], node_of: Callable[[Uri], ModelNode]) -> Catalogue:
        """The catalogue of all transactions, by position.

        Raises RunError when two models share a name, and as `node_of`.
        """
        models: dict[str, PlacedNode] = {}
        by_position: dict[Position, str] = {}
        references: dict[str, tuple[str, ...]] = {}
        for transaction in transactions:
            node = node_of(transaction.uri)
            if node.name in models:
                raise RunError(
                    f"two models on the chain are named {node.name!r}; this federation is not ours."
                )
            by_position[transaction.position] = node.name
            models[node.name] = PlacedNode(transaction.position, transaction.version, transaction.uri, node)
            references[node.name] = tuple(by_position[place] for place in transaction.references)
        return cls(models, InheritanceGraph.from_references(references))


class KnownTransactions:
    """The transactions of a live chain, of which only those that are new or replaced are read again.

    A block's hash covers all before it, and what a replacement changes is logged, so whatever the chain shows
    as unchanged is as it was read.
    """

    def __init__(self, live: LiveChainReader) -> None:
        self._live = live
        self._tip: tuple[int, bytes] = (0, b"")
        self._known: dict[Position, ModelTransaction] = {}
        self._versions: dict[Position, int] = {}

    def read(self) -> Sequence[ModelTransaction]:
        """All of them, by position.  Raises NodeError."""
        live, (height, tip) = self._live, self._tip
        newest = live.height()
        if newest < height or (height and live.block_hash(height) != tip):
            height, self._known, self._versions = 0, {}, {}
        versions = {each.position: each.version for each in live.redactions()}
        changed = {place for place, _ in versions.items() ^ self._versions.items()} & self._known.keys()
        wanted = [*sorted(changed), *self._places(range(height + 1, newest + 1))]
        self._known.update(zip(wanted, live.transactions(wanted), strict=True))
        self._tip = (newest, live.block_hash(newest) if newest else b"")
        self._versions = versions
        return tuple(self._known.values())

    def _places(self, heights: range) -> list[Position]:
        """Positions of all transactions in some blocks: as they were logged, by the header for others."""
        logged = sorted(each.position for each in self._live.published() if each.position.height in heights)
        known = {position.height for position in logged}
        headers = self._live.headers([height for height in heights if height not in known])
        unlogged = [Position(each.height, index) for each in headers for index in range(each.tx_count)]
        return sorted([*logged, *unlogged])


class CatalogueReader:
    """Reads the catalogue, again only when the node has a new block.

    Members of one process that look at the same node share one reader.
    """

    def __init__(self, live: LiveChainReader, store: Store, archived: Store | None = None) -> None:
        """`archived`: has the nodes of replaced versions, where it matters when and for which requests they
        were replaced."""
        self._live = live
        self._store = store
        self._archived = archived
        self._requests: dict[Uri, Request | None] = {}
        self._reading = threading.Lock()
        self._transactions = KnownTransactions(live)
        self._nodes: dict[Uri, ModelNode] = {}
        self._block: str | None = None
        self._catalogue: Catalogue | None = None

    def read(self) -> Catalogue:
        """The models as they stand; errors as `Catalogue.read`."""
        with self._reading:
            block = self._live.newest_block()
            if self._catalogue is None or block != self._block:
                self._catalogue = self._with_earlier(Catalogue.of(self._transactions.read(), self._node))
                self._block = block
                self._nodes = {placed.uri: placed.node for placed in self._catalogue.models.values()}
            return self._catalogue

    def _with_earlier(self, catalogue: Catalogue) -> Catalogue:
        if self._archived is None:
            return catalogue
        replaced: dict[Position, list[Request]] = {}
        since: dict[Position, int] = {}
        versions = {placed.position: placed.version for placed in catalogue.models.values()}
        for each in self._live.redactions():
            since[each.position] = each.block_number
            if each.version < versions.get(each.position, 0):
                request = self._request(each.uri, self._archived)
                replaced.setdefault(each.position, []).extend((request,) if request else ())
        models = {
            name: replace(
                placed,
                earlier=tuple(replaced.get(placed.position, ())),
                since=since.get(placed.position, 0),
            )
            for name, placed in catalogue.models.items()
        }
        return replace(catalogue, models=models)

    def _request(self, uri: Uri, archived: Store) -> Request | None:
        """The request that a replaced version came of."""
        if uri not in self._requests:
            redaction = parse_node(archived.read(uri)).redaction
            self._requests[uri] = redaction.request if redaction else None
        return self._requests[uri]

    def _node(self, uri: Uri) -> ModelNode:
        return self._nodes.get(uri) or parse_node(self._store.read(uri))


class ArchiveReader:
    """Reads the archive's records, of which only new ones are read again.

    The archive's head is a hash chain over all records, so those that were read are unchanged where it
    continues them.
    """

    def __init__(self, archive: ArchiveChainReader) -> None:
        self._archive = archive
        self._reading = threading.Lock()
        self._block: str | None = None
        self._head = payload.archive_genesis_head(archive.chain_id, archive.address)
        self._records: tuple[StoredArchiveRecord, ...] = ()

    @property
    def contract(self) -> ArchiveChainReader:
        return self._archive

    def read(self) -> tuple[StoredArchiveRecord, ...]:
        """All records, oldest first."""
        with self._reading:
            block = self._archive.newest_block()
            if block != self._block:
                if not self._continues():
                    self._head = payload.archive_genesis_head(self._archive.chain_id, self._archive.address)
                    self._records = ()
                    self._continues()
                self._block = block
            return self._records

    def _continues(self) -> bool:
        """Adds the records that are new; returns whether the archive's head is that of all records then."""
        length, known = self._archive.length(), len(self._records)
        added = tuple(self._archive.records(known, length - known)) if length > known else ()
        for each in added:
            self._head = payload.archive_head_step(self._head, each.index, each.record, each.timestamp)
        self._records += added
        return length >= known and self._head == self._archive.head()


@dataclass(frozen=True, slots=True, eq=False)
class RecordReaders:
    """Both chains' records as one party reads them."""

    catalogue: CatalogueReader
    archive: ArchiveReader

    @classmethod
    def of(
        cls,
        live: LiveChainReader,
        archive: ArchiveChainReader,
        store: Store,
        archived: Store | None = None,
    ) -> RecordReaders:
        """`store`: the live chain's, which has the model nodes.  `archived`: as for `CatalogueReader`."""
        return cls(CatalogueReader(live, store, archived), ArchiveReader(archive))


def all_headers(live: LiveLedger) -> tuple[Header, ...]:
    """Headers from height 1 on."""
    return tuple(live.headers(range(1, live.height() + 1)))


def all_transactions(live: LiveLedger) -> tuple[ModelTransaction, ...]:
    """Every transaction, by position."""
    positions = [
        Position(header.height, index) for header in all_headers(live) for index in range(header.tx_count)
    ]
    return tuple(live.transactions(positions))
