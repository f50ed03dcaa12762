# SPDX-License-Identifier: Apache-2.0
"""Kinds of edges of the inheritance graph, and how forgetting goes down each kind."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum

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


class Remedy(StrEnum):
    """What a request leaves to be done for a withdrawn model."""

    RECOMPUTED = "recomputed"
    """Anybody who has the clean parents computes it again, without data."""
    MADE_AGAIN = "made again by its owner"
    """Only its owner has the data to train it again, from clean parents."""
    WITHDRAWN = "withdrawn"
    """Nothing clean is left to make it from."""


def remedies(
    graph: InheritanceGraph,
    kinds: Mapping[str, Collection[EdgeKind]],
    starts: Collection[str],
) -> dict[str, Remedy]:
    """The remedy of every model that `starts` reach, in topological order.

    A start was itself made with the data, so that it is made again by its owner.  A merge that is a start, or
    no parent of which is left, is withdrawn: it has no data of its own to leave out.

    `kinds`: kinds of the edges to a model's parents, by model.
    """
    reached = {*starts, *graph.descendants(starts)}
    found: dict[str, Remedy] = {}
    for name in graph.topological_order():
        if name not in reached:
            continue
        parents, own = graph.references(name), set(kinds.get(name, ()))
        by_computing = bool(own) and own <= {EdgeKind.MERGE, EdgeKind.QUANTISE}
        gone = bool(parents) and all(found.get(parent) is Remedy.WITHDRAWN for parent in parents)
        if gone or (by_computing and name in starts):
            found[name] = Remedy.WITHDRAWN
        else:
            found[name] = Remedy.RECOMPUTED if by_computing else Remedy.MADE_AGAIN
    return found
