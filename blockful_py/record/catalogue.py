# SPDX-License-Identifier: Apache-2.0
"""The current models on the live chain, by name, and their inheritance graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from blockful_py.committee.protocols import LiveLedger, Store
from blockful_py.errors import RunError, UnknownModelError
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.record.certificates.verifying import ArchiveChainSource
from blockful_py.record.model_node import PlacedNode, parse_node
from blockful_py.types import Header, ModelTransaction, Position, StoredArchiveRecord


class LiveChainReader(LiveLedger, Protocol):
    """The live chain by way of a node."""

    def newest_block(self) -> str:
        """Hash of the node's newest block: while it is the same, so is what the contract says."""


class ArchiveChainReader(ArchiveChainSource, Protocol):
    """The archive chain by way of a node."""

    def newest_block(self) -> str:
        """Hash of the node's newest block."""


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
        models: dict[str, PlacedNode] = {}
        by_position: dict[Position, str] = {}
        references: dict[str, tuple[str, ...]] = {}
        for transaction in all_transactions(live):
            node = parse_node(store.read(transaction.uri))
            if node.name in models:
                raise RunError(
                    f"two models on the chain are named {node.name!r}; this federation is not ours."
                )
            by_position[transaction.position] = node.name
            models[node.name] = PlacedNode(transaction.position, transaction.version, transaction.uri, node)
            references[node.name] = tuple(by_position[place] for place in transaction.references)
        return cls(models, InheritanceGraph.from_references(references))


class CatalogueReader:
    """Reads the catalogue, again only when the node has a new block.

    Members of one process that look at the same node share one reader.
    """

    def __init__(self, live: LiveChainReader, store: Store) -> None:
        self._live = live
        self._store = store
        self._block: str | None = None
        self._catalogue: Catalogue | None = None

    def read(self) -> Catalogue:
        """The models as they stand; errors as `Catalogue.read`."""
        block = self._live.newest_block()
        if self._catalogue is None or block != self._block:
            self._catalogue, self._block = Catalogue.read(self._live, self._store), block
        return self._catalogue


class ArchiveReader:
    """Reads the archive's records, again only when the node has a new block."""

    def __init__(self, archive: ArchiveChainReader) -> None:
        self._archive = archive
        self._block: str | None = None
        self._records: tuple[StoredArchiveRecord, ...] = ()

    @property
    def contract(self) -> ArchiveChainReader:
        return self._archive

    def read(self) -> tuple[StoredArchiveRecord, ...]:
        """All records, oldest first."""
        block = self._archive.newest_block()
        if block != self._block:
            self._records = tuple(self._archive.records(0, self._archive.length()))
            self._block = block
        return self._records


@dataclass(frozen=True, slots=True, eq=False)
class RecordReaders:
    """Both chains' records as one party reads them."""

    catalogue: CatalogueReader
    archive: ArchiveReader

    @classmethod
    def of(cls, live: LiveChainReader, archive: ArchiveChainReader, store: Store) -> RecordReaders:
        """`store`: the live chain's, which has the model nodes."""
        return cls(CatalogueReader(live, store), ArchiveReader(archive))


def all_headers(live: LiveLedger) -> tuple[Header, ...]:
    """Headers from height 1 on."""
    return tuple(live.headers(range(1, live.height() + 1)))


def all_transactions(live: LiveLedger) -> tuple[ModelTransaction, ...]:
    """Every transaction, by position."""
    positions = [
        Position(header.height, index) for header in all_headers(live) for index in range(header.tx_count)
    ]
    return tuple(live.transactions(positions))
