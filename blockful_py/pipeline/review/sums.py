# SPDX-License-Identifier: Apache-2.0
"""Members' recomputation of models of sums (`learning.sums`)."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from blockful_py.errors import UnlearningError
from blockful_py.learning.weights import Weights
from blockful_py.pipeline.review.refusing import require
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.model_node import Request
from blockful_py.record.parts import announced as announced_starts
from blockful_py.record.parts import is_replaced
from blockful_py.types import Paradigm
from blockful_py.unlearning.subtract import Subtraction, recompute_sums


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
    asked = subtraction_of(request, catalogue)
    graph = asked.graph
    wanted = {*asked.starts, *graph.descendants(asked.starts)}
    if request.paradigm == Paradigm.SEQUENTIAL:
        above = {each for name in names for each in graph.references(name)} & wanted
        early = sorted(each for each in above - names if not is_replaced(catalogue[each], request))
        require(not early, f"{', '.join(early)} would have to be unlearned before")
        wanted = {*names}
    ordered = [name for name in graph.topological_order() if name in wanted]
    return recompute_sums(asked, ordered, current, announced)
