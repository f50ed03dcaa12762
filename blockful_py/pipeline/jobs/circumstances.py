# SPDX-License-Identifier: Apache-2.0
"""Collects the circumstances of a request, from which its method is chosen."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import chain

from blockful_py.forget import Forget
from blockful_py.learning.forget_sets import forget_set
from blockful_py.pipeline.jobs.context import FederationContext
from blockful_py.pipeline.review.methods import named_method
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.model_node import PlacedNode
from blockful_py.types import Paradigm
from blockful_py.unlearning.choosing import Circumstances
from blockful_py.unlearning.clean_line import CleanLine


def circumstances_of(
    context: FederationContext,
    catalogue: Catalogue,
    starts: Collection[str],
    forget: Forget,
    paradigm: Paradigm,
) -> Circumstances:
    """The circumstances of a request.

    Raises UnknownModelError for an unknown start; as `RequestHistory` if an archived version is missing.
    """
    settings = context.run.settings
    graph = catalogue.graph
    affected = {*starts, *graph.descendants(starts)}
    machines = context.run.party is not None
    here = not machines and settings.learning.trainer is None
    outside = [catalogue[name] for name in graph.ancestors(affected) if name not in affected]
    return Circumstances(
        level=forget.level,
        paradigm=paradigm,
        taught_outside=_taught(context, outside, forget) if here else None,
        past_graph=not machines and _made_by_a_line(context, [each for each in outside if each.version]),
        machines=machines,
        private=settings.learning.privacy is not None,
        attested=settings.committee.attested,
        emptied=tuple(
            name
            for name in sorted(affected)
            if not graph.references(name) and catalogue[name].node.statement.user in forget.clients
        ),
        withdraws=machines and settings.unlearning.unanswered == "withdraw",
    )


def _taught(context: FederationContext, models: Iterable[PlacedNode], forget: Forget) -> bool:
    """Whether the owner of one of the models holds data to be forgotten."""
    holding = set(forget.owners()) or {
        user.index for user in context.setup.users if len(forget_set(forget, user))
    }
    return any(placed.node.statement.user in holding for placed in models)


def _made_by_a_line(context: FederationContext, changed: Sequence[PlacedNode]) -> bool:
    """Whether any version of one of these models was made by `clean_line`."""
    if not changed:
        return False  # saves reading the archive
    history = context.history
    requests = chain.from_iterable(map(history.requests, changed))
    return any(named_method(request.method)[0] == CleanLine.name for request in requests)
