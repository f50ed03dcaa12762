# SPDX-License-Identifier: Apache-2.0
"""Kinds of edges of the inheritance graph, and how forgetting goes down each kind."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType

from blockful_py.graph.inheritance import InheritanceGraph


class EdgeKind(StrEnum):
    """How a model came of its parent."""

    TRAIN = "train"
    """Trained in this federation from the mean of its references (paper, eq. 3)."""
    FINE_TUNE = "fine_tune"
    ADAPTER = "adapter"
    """A low-rank or other change that is stored apart from its base."""
    MERGE = "merge"
    """Computed from the weights of several models, without data."""
    DISTILL = "distill"
    """Trained on outputs of its parent."""
    QUANTISE = "quantise"
    """The same weights in fewer bits, without data."""


COMPUTED = frozenset({EdgeKind.MERGE, EdgeKind.QUANTISE})
"""Kinds that need no data, so that anybody repeats them."""


class Remedy(StrEnum):
    """The work that is left for a model that a request withdraws."""

    RECOMPUTED = "recomputed"
    """Anybody computes it again, without data, from the clean parents that are left."""
    MADE_AGAIN = "made again by its owner"
    """Only its owner has the data to train it again."""
    WITHDRAWN = "withdrawn"
    """Nothing: an adapter is dropped and its base stays, or a parent is gone that it needs."""


def remedies(
    graph: InheritanceGraph,
    kinds: Mapping[str, Collection[EdgeKind]],
    starts: Collection[str],
    needed: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> dict[str, Remedy]:
    """The remedy of every model that `starts` reach, in topological order.

    `kinds`: kinds of the edges to a model's parents, by model.  `needed`: by merge, parents without which it
    says nothing.
    """
    reached = {*starts, *graph.descendants(starts)}
    found: dict[str, Remedy] = {}
    for name in graph.topological_order():
        if name in reached:
            parents = [found.get(parent) for parent in graph.references(name)]
            lacks = any(found.get(parent) is Remedy.WITHDRAWN for parent in needed.get(name, ()))
            found[name] = Remedy.WITHDRAWN if lacks else _remedy(set(kinds.get(name, ())), parents)
    return found


def _remedy(kinds: Collection[EdgeKind], parents: Sequence[Remedy | None]) -> Remedy:
    """The remedy of a reached model; `parents` have None where they are not reached."""
    is_reached = any(parent is not None for parent in parents)
    if parents and all(parent is Remedy.WITHDRAWN for parent in parents):
        return Remedy.WITHDRAWN
    if not is_reached and set(kinds) == {EdgeKind.ADAPTER}:
        return Remedy.WITHDRAWN
    if is_reached and set(kinds) <= COMPUTED:
        return Remedy.RECOMPUTED
    return Remedy.MADE_AGAIN
