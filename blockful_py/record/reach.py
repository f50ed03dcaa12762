# SPDX-License-Identifier: Apache-2.0
"""The models that data sets reached, and the work that is left for each; reads no weights."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import compress

from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.graph.kinds import EdgeKind, Remedy, remedies
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.model_node import ModelNode, PlacedNode


@dataclass(frozen=True, slots=True)
class Reach:
    """The current models that data sets reached.

    Attributes:
        starts: models that name one of the data sets, or came before one that does.
        remedies: by reached model, in topological order.
    """

    starts: tuple[str, ...]
    remedies: Mapping[str, Remedy]


@dataclass(frozen=True, slots=True)
class RemainingWork:
    """The work that a request leaves for one model that it withdraws.

    Attributes:
        edges: kinds of the edges to its references, by name.
        owner: its maker's account elsewhere, if the adopter named one.
        sources: its references that are left to make it from.
        reads, writes: bytes of these references' files, and of its own.
        starts: whether it names the data itself.
    """

    name: str
    edges: Mapping[str, EdgeKind]
    remedy: Remedy
    owner: str | None
    sources: tuple[str, ...]
    reads: int
    writes: int
    starts: bool

    @property
    def by_whom(self) -> str:
        """The party that can do it."""
        if self.remedy is Remedy.RECOMPUTED:
            return "anybody"
        return "nobody" if self.remedy is Remedy.WITHDRAWN else self.owner or "its owner"


def work_left(nodes: Iterable[ModelNode], found: Reach) -> tuple[RemainingWork, ...]:
    """The plan of a request: the work for each model that it reaches, parents first.

    `nodes`: of these models and, as far as their sizes are to be known, of their references.
    """
    known = {node.name: node for node in nodes}
    plan = []
    for name, remedy in found.remedies.items():
        edges, adopted = kinds_of(known[name]), known[name].statement.adopted
        sources = tuple(
            each
            for each in edges
            if found.remedies.get(each) is not Remedy.WITHDRAWN
            and not (each in known and known[each].is_withdrawn and each not in found.remedies)
        )
        sizes = [_size(known[each]) for each in sources if each in known]
        owner = None if adopted is None else adopted.speaks_for
        size, names_it = _size(known[name]), name in found.starts
        plan.append(RemainingWork(name, edges, remedy, owner, sources, sum(sizes), size, names_it))
    return tuple(plan)


def reached_by(nodes: Collection[ModelNode], starts: Collection[str]) -> Reach:
    """The reach of a request among the models that it withdrew, by their nodes alone."""
    references = {node.name: tuple(each.name for each in node.statement.references) for node in nodes}
    outside = {each for listed in references.values() for each in listed} - references.keys()
    graph = InheritanceGraph.from_references({**dict.fromkeys(outside, ()), **references})
    kinds = {node.name: tuple(kinds_of(node).values()) for node in nodes}
    return Reach(tuple(starts), remedies(graph, kinds, starts, {node.name: _needed(node) for node in nodes}))


def reach(catalogue: Catalogue, datasets: Collection[str]) -> Reach:
    """The models with weights that these data sets reached."""
    starts = starts_of(catalogue, datasets)
    kinds = {name: tuple(kinds_of(placed.node).values()) for name, placed in catalogue.models.items()}
    needed = {name: _needed(placed.node) for name, placed in catalogue.models.items()}
    found = remedies(catalogue.graph, kinds, starts, needed)
    return Reach(starts, {name: each for name, each in found.items() if name in catalogue.with_weights})


def starts_of(catalogue: Catalogue, datasets: Collection[str]) -> tuple[str, ...]:
    """The models that a request to forget these data sets starts from, all with weights.

    A model counts too if a later version of it names the data set and has the same files, or if it was known
    by name alone: then its card had said too little.
    """
    wanted, models = set(datasets), catalogue.models
    named = [name for name, placed in models.items() if wanted.intersection(datasets_in(placed))]
    found = dict.fromkeys(named)
    for name in named:
        while (earlier := _same_before(models, name)) is not None and earlier not in found:
            found[earlier] = None
            name = earlier
    return tuple(name for name in models if name in found and name in catalogue.with_weights)


def kinds_of(node: ModelNode) -> dict[str, EdgeKind]:
    """The kind of the edge to each reference of a model; `train` if it was trained here."""
    statement = node.statement
    names = [each.name for each in statement.references]
    if statement.adopted is None:
        return dict.fromkeys(names, EdgeKind.TRAIN)
    return dict(zip(names, statement.adopted.kinds, strict=True))


def _needed(node: ModelNode) -> tuple[str, ...]:
    """The references without which a merge says nothing."""
    adopted, names = node.statement.adopted, [each.name for each in node.statement.references]
    return () if adopted is None else tuple(compress(names, adopted.needs))


def datasets_in(placed: PlacedNode) -> tuple[str, ...]:
    """Data sets that an adopted model names; none for a model that was trained here."""
    adopted = placed.node.statement.adopted
    return () if adopted is None else adopted.datasets


def known_datasets(catalogue: Catalogue) -> dict[str, int]:
    """The number of models that name each data set, in ascending order of names."""
    counts: dict[str, int] = {}
    for placed in catalogue.models.values():
        for name in datasets_in(placed):
            counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items()))


def _size(node: ModelNode) -> int:
    """Bytes of an adopted model's files."""
    return sum(each.size for each in node.statement.adopted.files) if node.statement.adopted else 0


def _same_before(models: Mapping[str, PlacedNode], name: str) -> str | None:
    """The model that this one is a later version of, if the card alone has changed."""
    adopted = models[name].node.statement.adopted
    if adopted is None or adopted.supersedes is None or adopted.supersedes not in models:
        return None
    before = models[adopted.supersedes].node.statement.adopted
    same = before is not None and (not before.files or before.files == adopted.files)
    return adopted.supersedes if same else None
