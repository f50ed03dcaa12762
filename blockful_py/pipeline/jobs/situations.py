# SPDX-License-Identifier: Apache-2.0
"""What is known of a federation when a request is made, for the choice of its method."""

from __future__ import annotations

from collections.abc import Collection

from blockful_py.forget import Forget, Level
from blockful_py.learning.forget_sets import forget_set, retain_set
from blockful_py.pipeline.jobs.context import FederationContext
from blockful_py.pipeline.review.statements import training_of
from blockful_py.record.catalogue import Catalogue
from blockful_py.types import Paradigm
from blockful_py.unlearning.choosing import Situation
from blockful_py.unlearning.line import HALF, first_share


def situation_of(
    context: FederationContext,
    catalogue: Catalogue,
    starts: Collection[str],
    forget: Forget,
    paradigm: Paradigm,
) -> Situation:
    """The situation of a request.  Raises UnknownModelError for an unknown start."""
    settings = context.run.settings
    graph = catalogue.graph
    affected = {*starts, *graph.descendants(starts)}
    machines, remote = context.run.party is not None, settings.learning.trainer is not None
    here = not machines and not remote
    return Situation(
        level=forget.level,
        paradigm=paradigm,
        taught_outside=bool(_holders(context, catalogue, set(graph.ancestors(affected)) - affected, forget))
        if here
        else None,
        machines=machines,
        remote=remote,
        private=settings.learning.privacy is not None,
        attested=settings.committee.attested,
        clean_models=settings.learning.clean_references
        and forget.level is Level.CLASS
        and any(
            forget == Forget.of_classes([increment.label])
            for name in affected
            for increment in catalogue[name].node.increments
        ),
        line_sees=_line_sees(context, catalogue, affected, forget)
        if here and forget.level is Level.CLASS
        else 0.0,
    )


def _holders(
    context: FederationContext, catalogue: Catalogue, names: Collection[str], forget: Forget
) -> set[str]:
    """Those of `names` whose owners hold what is to be forgotten."""
    holding = set(forget.owners()) or {
        user.index for user in context.setup.users if len(forget_set(forget, user))
    }
    return {name for name in names if catalogue[name].node.statement.user in holding}


def _line_sees(
    context: FederationContext, catalogue: Catalogue, affected: Collection[str], forget: Forget
) -> float:
    """Times that a clean line sees each sample that owners keep, with both its legs."""
    graph = catalogue.graph
    around = {*affected, *graph.ancestors(affected)}
    holders = _holders(context, catalogue, around, forget)
    line = around & {*affected, *holders, *graph.descendants(holders)}
    kept = {user.index: len(retain_set(forget, user)) for user in context.setup.users}
    statements = [catalogue[name].node.statement for name in line]
    passes = sum(training_of(each).epochs * kept.get(each.user, 0) for each in statements)
    samples = sum(kept.get(user, 0) for user in {each.user for each in statements})
    return (first_share(context.setup.architecture.class_count) + HALF) * passes / max(1, samples)
