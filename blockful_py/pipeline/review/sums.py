# SPDX-License-Identifier: Apache-2.0
"""Members' recomputation of models of sums (`learning.sums`)."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from blockful_py.errors import UnlearningError
from blockful_py.learning.weights import Weights
from blockful_py.pipeline.review.opened_heads import OpenedHeads
from blockful_py.pipeline.review.refusing import require
from blockful_py.pipeline.review.shared_pools import pool_after, require_losses, shared_after
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.model_node import ModelNode
from blockful_py.record.parts import announced as announced_starts
from blockful_py.record.parts import is_replaced
from blockful_py.record.request import Request
from blockful_py.types import Paradigm
from blockful_py.unlearning.subtract import Subtraction, recompute_sums, require_all_parts


def subtraction_of(
    request: Request, catalogue: Catalogue, taught: AbstractSet[str] = frozenset()
) -> Subtraction:
    """The subtraction that a request asks for; `taught` is as for `Subtraction`."""
    owners = {name: placed.node.statement.user for name, placed in catalogue.models.items()}
    starts = tuple(start.name for start in request.starts)
    merged, graph = request.is_merged, catalogue.trained_from
    return Subtraction(request.forget, graph, owners, starts, merged, frozenset(taught))


def require_lines(request: Request, catalogue: Catalogue) -> None:
    """Checks, among machines, that an owner of samples needs no other's new part for its own new models.

    Raises UnlearningError if one of its starts inherits, in a parallel request, from another such owner's.
    """
    parts = announced_starts(request, catalogue)
    if request.paradigm != Paradigm.PARALLEL:
        return
    users = {name: catalogue[name].node.statement.user for name in parts}
    below = sorted(
        name
        for name in parts
        if any(users[name] != users[each] for each in parts.intersection(catalogue.graph.ancestors([name])))
    )
    if below:
        raise UnlearningError(
            f"{', '.join(below)} inherits from a start of another owner of samples, whose new part its owner "
            "does not have yet: take the sequential paradigm, or one request after the other."
        )


def recomputed_sums(
    request: Request,
    names: AbstractSet[str],
    catalogue: Catalogue,
    current: Mapping[str, Weights],
    announced: Mapping[str, Weights],
) -> Mapping[str, Weights]:
    """New sums of the models that a proposal with `names` has to replace: in parallel all affected ones.

    Args:
        current: state dicts of all current versions.
        announced: new state dicts of the proposed starts, from their owners.

    Raises:
        RefusedError: model by model, a reference that the request reaches has not been replaced before.
        UnlearningError, LearningError: as `recompute_sums`.
    """
    ordered = models_to_replace(request, names, catalogue)
    return recompute_sums(subtraction_of(request, catalogue), ordered, current, announced)


def models_to_replace(request: Request, names: AbstractSet[str], catalogue: Catalogue) -> list[str]:
    """The models, in topological order, that a proposal with `names` has to replace.

    Raises RefusedError as `recomputed_sums`.
    """
    graph, starts = catalogue.trained_from, [start.name for start in request.starts]
    wanted = {*starts, *graph.descendants(starts)}
    if request.paradigm == Paradigm.SEQUENTIAL:
        above = {each for name in names for each in graph.references(name)} & wanted
        early = sorted(each for each in above - names if not is_replaced(catalogue[each], request))
        require(not early, f"{', '.join(early)} would have to be unlearned before")
        wanted = {*names}
    return [name for name in graph.topological_order() if name in wanted]


def opened_heads(
    request: Request, proposed: Mapping[str, ModelNode], catalogue: Catalogue, opened: OpenedHeads
) -> Mapping[str, Weights]:
    """As `recomputed_sums`, of models whose sums are shared: the heads that this member opened itself.

    Raises RefusedError: it has not opened one, or a node states another part than follows from the request.
    UnlearningError as `require_all_parts`.
    """
    require_all_parts(subtraction_of(request, catalogue))
    by_owners = announced_starts(request, catalogue)
    stated = {name: node.shared for name, node in proposed.items() if name in by_owners}
    dealt = {name: part for name, part in stated.items() if part is not None}
    require_losses(request, dealt, catalogue)
    for name, node in proposed.items():
        expected = node.statement.shared if name in by_owners else shared_after(catalogue[name].node, request)
        require(node.shared == expected, f"model {name} states another shared part than it has left")
    wanted = models_to_replace(request, {*proposed}, catalogue)
    pools = {name: pool_after(name, request, catalogue, dealt) for name in wanted}
    return {name: opened.head(pool) for name, pool in pools.items()}
