# SPDX-License-Identifier: Apache-2.0
"""The current models on the live chain, by name, and their inheritance graph."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from blockful_py.errors import NodeError, RunError, UnknownModelError
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.html_table import html_table
from blockful_py.ledger.protocols import LiveLedger, Store
from blockful_py.record.archive_reader import ArchiveReader
from blockful_py.record.chain_readers import NONE, ArchiveChainReader, LiveChainReader, SeenEvents
from blockful_py.record.known_transactions import KnownTransactions
from blockful_py.record.model_node import (
    MAX_NODE_BYTES,
    ModelNode,
    PlacedNode,
    Redaction,
    RequestAnswer,
    parse_node,
)
from blockful_py.record.statement import Statement
from blockful_py.types import Header, ModelTransaction, Position, Uri

AT_ONCE = 256
"""Nodes that are fetched together."""


@dataclass(frozen=True)
class Catalogue:
    """Models by name in the order of their positions, and their inheritance graph.

    The graph has all references that a model ever had: on the chain, and added by its owner's statement.  It
    decides the reach of a request, since nobody can check that a reference is no longer used.
    """

    models: Mapping[str, PlacedNode]
    graph: InheritanceGraph

    def __getitem__(self, name: str) -> PlacedNode:
        """A model by name.  Raises UnknownModelError, which lists the known names."""
        if name not in self.models:
            raise UnknownModelError(name, tuple(self.models))
        return self.models[name]

    @cached_property
    def with_weights(self) -> Mapping[str, PlacedNode]:
        """The models that are not withdrawn."""
        return {name: placed for name, placed in self.models.items() if not placed.node.is_withdrawn}

    @cached_property
    def used(self) -> Mapping[str, tuple[str, ...]]:
        """The references in use, in the order of the statement, of models that have chosen again."""
        return {
            name: tuple(each.name for each in placed.node.statement.in_use)
            for name, placed in self.models.items()
            if placed.node.has_chosen_again
        }

    @cached_property
    def trained_from(self) -> InheritanceGraph:
        """The references that the current versions were trained from, for the path weights of passing."""
        if not self.used:
            return self.graph
        references = {name: self.used.get(name, self.graph.references(name)) for name in self.models}
        return InheritanceGraph.from_references(references)

    @cached_property
    def changed(self) -> frozenset[str]:
        """The models that requests have replaced, and all their descendants.

        Nobody knows their clean models: a replaced version has none, and others are not based on them.
        """
        replaced = [name for name, placed in self.models.items() if placed.version]
        return frozenset((*replaced, *self.graph.descendants(replaced)))

    def settled(self, label: int) -> frozenset[str]:
        """The models whose clean models for a class follow from the record alone.

        Members have checked at publication that its references' clean models are the base of each.  All
        ancestors have one too, so nobody has to be asked whether the class has reached them.
        """
        found = set[str]()
        for name in self.graph.topological_order():
            known = found.issuperset(self.graph.references(name)) and name not in self.changed
            if known and self.models[name].node.increment(label) is not None:
                found.add(name)
        return frozenset(found)

    def up_to(self, height: int) -> Catalogue:
        """The models that were published up to a height of the live chain, in their current versions."""
        models = {name: placed for name, placed in self.models.items() if placed.position.height <= height}
        if len(models) == len(self.models):
            return self
        references = {name: self.graph.references(name) for name in models}
        return Catalogue(models, InheritanceGraph.from_references(references))

    def references(self) -> dict[str, tuple[str, ...]]:
        """Names of the references of every model."""
        return {name: self.graph.references(name) for name in self.models}

    def _repr_html_(self) -> str:
        rows = [
            (
                name,
                placed.position,
                placed.version,
                "withdrawn" if placed.node.is_withdrawn else _published_accuracy(placed.node.statement),
                ", ".join(self.graph.references(name)),
            )
            for name, placed in self.models.items()
        ]
        heads = ("model", "position", "version", "accuracy, as published", "references")
        return html_table(f"{len(rows)} models on the live chain", heads, rows)

    @classmethod
    def read(cls, live: LiveChainReader, store: Store) -> Catalogue:
        """Reads every transaction and its node, verified against its CID.

        Raises StorageError when a node cannot be read, RunError when two models share a name.
        """
        return cls.of(all_transactions(live), lambda uri: parse_node(store.read(uri, MAX_NODE_BYTES)))

    @classmethod
    def of(cls, transactions: Iterable[ModelTransaction], node_of: Callable[[Uri], ModelNode]) -> Catalogue:
        """The catalogue of transactions.  Raises RunError if two models share a name, and as `node_of`."""
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
            models[node.name] = PlacedNode(
                transaction.position,
                transaction.version,
                transaction.uri,
                node,
                settled=transaction.settled,
            )
            added = [place for place in node.added_to(transaction.references) if place in by_position]
            places = dict.fromkeys((*transaction.references, *added))
            references[node.name] = tuple(by_position[place] for place in places)
        return cls(models, InheritanceGraph.from_references(references))


def _published_accuracy(statement: Statement) -> str:
    return "none: made elsewhere" if statement.adopted is not None else f"{statement.accuracy:.1%}"


class CatalogueReader:
    """Reads the catalogue, again only when the live chain's contract has emitted events.

    Members of one process that use the same node share one reader.
    """

    def __init__(
        self,
        live: LiveChainReader,
        store: Store,
        archived: Store | None = None,
        kept: Path | None = None,
    ) -> None:
        """Reads the catalogue through a node.

        `archived`: store with the nodes of replaced versions, for the requests that replaced them; None
        leaves `PlacedNode.answers` empty.  `kept`: as for `KnownTransactions`.
        """
        self._live = live
        self._store = store
        self._archived = archived
        self._redactions: dict[Uri, Redaction | None] = {}
        self._reading = threading.Lock()
        self._transactions = KnownTransactions(live, kept)
        self._nodes: dict[Uri, ModelNode] = {}
        self._seen = NONE
        self._catalogue: Catalogue | None = None

    def read(self) -> Catalogue:
        """The current models; errors as `Catalogue.read`."""
        with self._reading:
            log = self._live.log()
            if self._catalogue is None or not self._seen.are_all(log):
                seen = SeenEvents.of(log)
                transactions = tuple(self._transactions.read())
                new = [each.uri for each in transactions if each.uri not in self._nodes]
                nodes = self._nodes | dict(read_nodes(self._store, new))
                self._catalogue = self._with_answers(Catalogue.of(transactions, nodes.__getitem__))
                self._seen = seen
                self._nodes = {placed.uri: placed.node for placed in self._catalogue.models.values()}
            return self._catalogue

    def require_another_look(self, replaced: Mapping[Position, int]) -> None:
        """Reads the live chain again, through another node if several are configured.

        Raises NodeError unless that node, too, shows that these versions were replaced.
        """
        other = self._live.by_another_node()
        other.log()
        places = list(replaced)
        for place, found in zip(places, other.transactions(places), strict=True):
            if found.version <= replaced[place]:
                raise NodeError(
                    f"version {replaced[place]} of the model at {place} was replaced as the node at "
                    f"{self._live.url} tells it, and not at {other.url}: see which of them is of another "
                    "chain, or lags."
                )

    def _with_answers(self, catalogue: Catalogue) -> Catalogue:
        if self._archived is None:
            return catalogue
        answers: dict[Position, list[RequestAnswer]] = {}
        versions = {placed.position: placed for placed in catalogue.models.values()}
        redactions = [each for each in self._live.redactions() if each.position in versions]
        replaced = [each.uri for each in redactions if each.version < versions[each.position].version]
        new = [uri for uri in replaced if uri not in self._redactions]
        self._redactions |= {uri: node.redaction for uri, node in read_nodes(self._archived, new)}
        for each in redactions:
            placed = versions[each.position]
            if each.version > placed.version:
                continue  # the chain has moved on since the catalogue was read
            current = each.version == placed.version
            redaction = placed.node.redaction if current else self._redactions[each.uri]
            if redaction is not None:
                answers.setdefault(each.position, []).append(
                    RequestAnswer(
                        redaction.request, each.version, each.block_number, redaction.weights is None
                    )
                )
        models = {
            name: replace(placed, answers=tuple(answers.get(placed.position, ())))
            for name, placed in catalogue.models.items()
        }
        return replace(catalogue, models=models)


def read_nodes(store: Store, uris: Sequence[Uri]) -> Iterator[tuple[Uri, ModelNode]]:
    """Yields nodes, fetching many at once where other machines have them.  Raises StorageError, NodeError."""
    for start in range(0, len(uris), AT_ONCE):
        some = uris[start : start + AT_ONCE]
        store.prefetch(some)
        for uri in some:
            yield uri, parse_node(store.read(uri, MAX_NODE_BYTES))


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
        kept: Path | None = None,
    ) -> RecordReaders:
        """Readers of both chains.

        `store`: the live chain's, which has the model nodes.  `archived`, `kept`: as for `CatalogueReader`.
        """
        return cls(CatalogueReader(live, store, archived, kept), ArchiveReader(archive))


def all_headers(live: LiveLedger) -> tuple[Header, ...]:
    """Headers from height 1 on."""
    return tuple(live.headers(range(1, live.height() + 1)))


def all_transactions(live: LiveLedger) -> tuple[ModelTransaction, ...]:
    """Every transaction, by position."""
    positions = [
        Position(header.height, index) for header in all_headers(live) for index in range(header.tx_count)
    ]
    return tuple(live.transactions(positions))
