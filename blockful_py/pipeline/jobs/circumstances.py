# SPDX-License-Identifier: Apache-2.0
"""What is known of a federation when a request is made, for the choice of its method."""

from __future__ import annotations

from collections.abc import Collection

from blockful_py.forget import Forget
from blockful_py.learning.forget_sets import forget_set
from blockful_py.pipeline.jobs.context import FederationContext
from blockful_py.record.catalogue import Catalogue
from blockful_py.types import Paradigm
from blockful_py.unlearning.choosing import Circumstances


def circumstances_of(
    context: FederationContext,
    catalogue: Catalogue,
    starts: Collection[str],
    forget: Forget,
    paradigm: Paradigm,
) -> Circumstances:
    """What is known of a request.  Raises UnknownModelError for an unknown start."""
    settings = context.run.settings
    graph = catalogue.graph
    affected = {*starts, *graph.descendants(starts)}
    machines = context.run.party is not None
    here = not machines and settings.learning.trainer is None
    return Circumstances(
        level=forget.level,
        paradigm=paradigm,
        taught_outside=_taught(context, catalogue, set(graph.ancestors(affected)) - affected, forget)
        if here
        else None,
        machines=machines,
        private=settings.learning.privacy is not None,
        attested=settings.committee.attested,
    )


def _taught(context: FederationContext, catalogue: Catalogue, names: Collection[str], forget: Forget) -> bool:
    """Whether the owner of one of `names` holds what is to be forgotten."""
    holding = set(forget.owners()) or {
        user.index for user in context.setup.users if len(forget_set(forget, user))
    }
    return any(catalogue[name].node.statement.user in holding for name in names)
