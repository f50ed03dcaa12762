# SPDX-License-Identifier: Apache-2.0
"""Pools: the shared parts from which a model's head follows, at its publication and after a request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from blockful_py.forget import Level
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.learning.shared_sums import least_pool, pool_of
from blockful_py.pipeline.review.refusing import require
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.fields import canonical_json
from blockful_py.record.model_node import ModelNode
from blockful_py.record.parts import is_replaced
from blockful_py.record.request import Request
from blockful_py.record.statement_parts import SharedPart
from blockful_py.types import Bytes32


@dataclass(frozen=True)
class SharedPool:
    """The parts of a model and its ancestors.

    Attributes:
        graph: at least of these models.
        parts: by model; a withdrawn one has none.
    """

    name: str
    graph: InheritanceGraph
    parts: Mapping[str, SharedPart]

    @property
    def models(self) -> tuple[str, ...]:
        """The ancestors, then the model."""
        return (*self.graph.ancestors([self.name]), self.name)

    def digest(self) -> Bytes32:
        """Names the pool: equal pools have the same head."""
        parts = [
            [name, sorted(self.graph.references(name)), part.model_dump(mode="json") if part else None]
            for name in sorted(self.models)
            for part in (self.parts.get(name),)
        ]
        return sha256(canonical_json([self.name, parts])).digest()

    def suffices(self, features: int) -> bool:
        """Whether it has the samples that a head of F features needs, lest it shows them."""
        counts = {name: samples_of(part) for name, part in self.parts.items()}
        struck = {name: part.struck for name, part in self.parts.items()}
        return pool_of(self.name, self.graph, counts, struck) >= least_pool(features)


def pool_at_publication(
    name: str, references: tuple[str, ...], part: SharedPart, catalogue: Catalogue
) -> SharedPool:
    """The pool of a model that is to be published with these references."""
    graph = catalogue.trained_from
    names = {*references, *graph.ancestors(references)} if references else set[str]()
    above = {each: graph.references(each) for each in names}
    return SharedPool(
        name,
        InheritanceGraph.from_references({**above, name: references}),
        {**_current(catalogue, names), name: part},
    )


def pool_after(
    name: str, request: Request, catalogue: Catalogue, dealt: Mapping[str, SharedPart]
) -> SharedPool:
    """The pool of a model that a request replaces.

    Args:
        dealt: new parts of the starts whose owners deal anew, as far as they are known.
    """
    graph = catalogue.trained_from
    names = {name, *graph.ancestors([name])}
    starts = [start.name for start in request.starts]
    affected = {*starts, *graph.descendants(starts)}
    parts = _current(catalogue, names)
    for each, part in parts.items():
        placed = catalogue[each]
        if each in affected and not is_replaced(placed, request):
            parts[each] = dealt.get(each) or part_after(part, request, placed.node.statement.user)
    return SharedPool(name, graph, parts)


def part_after(part: SharedPart, request: Request, user: int) -> SharedPart:
    """An affected model's part without the data of a request, where its owner does not deal anew."""
    gone, left = {*request.classes}, user in request.clients
    kept = tuple(each for each in part.classes if not (left or each.label in gone))
    struck = tuple(sorted({*part.struck, *gone}))
    return part.model_copy(update={"proof": None, "classes": kept, "struck": struck})


def shared_after(node: ModelNode, request: Request) -> SharedPart | None:
    """A version's part without the data of a request (`part_after`), if it has one."""
    return node.shared and part_after(node.shared, request, node.statement.user)


def require_losses(request: Request, dealt: Mapping[str, SharedPart], catalogue: Catalogue) -> None:
    """Checks what owners of forgotten samples dealt anew.

    Each part loses a sample, unless requests for classes took them before, and no more than are named.
    Members check with their shares that these are the right ones (`require_rest`).  Raises RefusedError.
    """
    rows = Counter(user for user, _ in request.forget.samples)
    lost = {name: _loss(name, part, catalogue) for name, part in dealt.items()}
    for name, part in dealt.items():
        user, old = catalogue[name].node.statement.user, catalogue[name].node.shared
        own = [each for each in lost if catalogue[each].node.statement.user == user]
        gone = {label for each in own for label in lost[each]}
        spared = gone and gone.isdisjoint(samples_of(old) if old else ())
        samples = sum(lost[name].values())
        require(
            request.forget.level is Level.SAMPLE and (0 if spared else 1) <= samples <= rows[user],
            f"the new part of {name} has {samples} samples less, not 1 to {rows[user]}",
        )
        require(
            old is not None and part.struck == old.struck and part.proof is not None,
            f"the new part of {name} strikes other classes, or comes without a proof",
        )


def samples_of(part: SharedPart) -> dict[int, int]:
    """Samples by class."""
    return {each.label: each.samples for each in part.classes}


def _loss(name: str, part: SharedPart, catalogue: Catalogue) -> Mapping[int, int]:
    """Samples by class that a new part lacks.  Raises RefusedError if it has any that were not there."""
    old = catalogue[name].node.shared
    before, now = samples_of(old) if old else {}, samples_of(part)
    more = sorted(label for label, count in now.items() if count > before.get(label, 0))
    require(not more, f"the new part of {name} has more samples of class {', '.join(map(str, more))}")
    return {label: count - now.get(label, 0) for label, count in before.items() if count > now.get(label, 0)}


def _current(catalogue: Catalogue, names: set[str]) -> dict[str, SharedPart]:
    parts = {name: catalogue[name].node.shared for name in names if name in catalogue.models}
    return {name: part for name, part in parts.items() if part is not None}
