# SPDX-License-Identifier: Apache-2.0
"""Drafts unlearning requests, chooses their methods, and signs them for the owners of the starts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import chain

from blockful_py.errors import UnlearningError, WithdrawnError
from blockful_py.forget import Forget
from blockful_py.learning.copies import copies_left
from blockful_py.learning.forget_sets import forget_set, knows
from blockful_py.learning.partitions import require_classes
from blockful_py.pipeline.jobs.context import FederationContext
from blockful_py.pipeline.review.methods import (
    forget_of,
    method_settings,
    method_text,
    named_method,
    parse_method,
    require_paradigm,
    require_review,
)
from blockful_py.pipeline.review.sums import subtraction_of
from blockful_py.pipeline.run.lease import asks_the_same
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.model_node import PlacedNode
from blockful_py.record.reach import starts_of
from blockful_py.record.request import Request, Start
from blockful_py.types import Paradigm
from blockful_py.unlearning.choosing import AUTO, Advice, Circumstances, advise, choose
from blockful_py.unlearning.clean_line import CleanLine
from blockful_py.unlearning.method import Method
from blockful_py.unlearning.subtract import Subtract, require_all_parts, require_kind
from blockful_py.unlearning.withdraw import Withdraw, require_origin


def draft_request(
    context: FederationContext,
    catalogue: Catalogue,
    starts: Sequence[str] | None,
    forget: Forget | None,
    paradigm: Paradigm,
    method: str | None,
    under_way: Request | None = None,
) -> Request:
    """An unsigned request; the settings supply the arguments that are None.

    `under_way`: the open job's request, whose creation time the draft takes.  If both ask for the same and
    the method is to be chosen, the draft takes its method too.

    Raises:
        UnknownModelError: a start is not on the chain.
        WithdrawnError: a start is withdrawn.
        SettingsError: the method is unknown or does not work in the paradigm.
        UnknownClassError: the data has no such class.
        UnlearningError: no start is named, a parallel request would reach a withdrawn model, or members
            could not check the method's results.
    """
    settings = context.run.settings.unlearning
    if under_way is not None:
        context.clock.wait_until(under_way.created)
    forgotten = forget or forget_of(settings)
    usual = starts_of(catalogue, forgotten.datasets) if forgotten.datasets else settings.starts
    wanted = tuple(usual if starts is None else starts)
    if not wanted:
        names_none = f": no model of this record names {forgotten}" if forgotten.datasets else ""
        raise UnlearningError(f"a request needs a start{names_none}: name at least one.")
    if not context.setup.is_adopted:
        _require_weights(catalogue, wanted, paradigm)
    model = context.setup.architecture.name
    name = method or (settings.parallel if paradigm is Paradigm.PARALLEL else settings.sequential)
    chosen = Withdraw.name if context.setup.is_adopted and name == AUTO else None
    if name == AUTO and chosen is None:
        chosen = choose(circumstances_of(context, catalogue, wanted, forgotten, paradigm)).method
    request = Request(
        starts=tuple(Start(name=start, position=str(catalogue[start].position)) for start in wanted),
        classes=forgotten.classes,
        clients=forgotten.clients,
        samples=tuple(f"{user}:{row}" for user, row in forgotten.samples),
        datasets=forgotten.datasets,
        paradigm=paradigm.value,
        method=method_text(chosen or name, method_settings(chosen or name, settings, model)),
        created=context.clock.now() if under_way is None else under_way.created,
    )
    if chosen is not None and under_way is not None:
        same = request.model_copy(update={"method": under_way.method})
        request = same if asks_the_same(under_way, same) else request
    if isinstance(method_of(context, request), Subtract):
        taught = _with_class(context, catalogue, request) if request.is_merged else set[str]()
        require_all_parts(subtraction_of(request, catalogue, taught))
    return request


def advice_on(context: FederationContext, catalogue: Catalogue, request: Request) -> Advice:
    """Why a request's method suits its situation, and its limits, including copies that stay."""
    starts = [start.name for start in request.starts]
    now = circumstances_of(context, catalogue, starts, request.forget, Paradigm(request.paradigm))
    now = replace(now, references=request.references)
    advice, dataset = advise(named_method(request.method)[0], now), context.setup.dataset
    copies = copies_left(request.forget, context.setup.users, (dataset.test, dataset.proxy))
    return replace(advice, caveat="; ".join(filter(None, (advice.caveat, copies))) or None)


def _require_weights(catalogue: Catalogue, starts: Sequence[str], paradigm: Paradigm) -> None:
    gone = [start for start in starts if catalogue[start].node.is_withdrawn]
    if gone:
        raise WithdrawnError(gone[0])
    reached = sorted(set(catalogue.graph.descendants(starts)) - catalogue.with_weights.keys())
    if reached and paradigm is Paradigm.PARALLEL:
        raise UnlearningError(
            f"{', '.join(reached)} is withdrawn and passes no change on: take the sequential paradigm."
        )


def method_of(context: FederationContext, request: Request) -> Method:
    """The method that a request names.  Raises as `draft_request` when it cannot be applied."""
    chosen = parse_method(request.method, context.run.allowed_code)
    paradigm = Paradigm(request.paradigm)
    require_paradigm(chosen, paradigm)
    require_origin(chosen, context.setup.is_adopted, request.forget)
    require_kind(chosen, context.setup.architecture.name)
    known = range(context.setup.dataset.class_count)
    require_classes(request.forget.classes, known, "--class or unlearning.classes: the data")
    settings, machines = context.run.settings, context.run.party is not None
    require_review(chosen, request.forget, paradigm, settings.committee.attested, machines)
    return chosen


def sign_request(context: FederationContext, catalogue: Catalogue, request: Request) -> Request:
    """The request with the signatures of the owners of its starts.

    Raises KeystoreError or SettingsError when the account of an owner is missing.
    """
    secrets = [context.accounts.secret(catalogue[start.name].node.statement.user) for start in request.starts]
    live = context.contracts.live
    return request.signed(secrets, live.chain_id, live.address)


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
    machines, architecture = context.run.party is not None, context.setup.architecture
    sums = architecture.is_sums
    by_class = machines and architecture.is_merged and not forget.owners()
    here = not machines and settings.learning.trainer is None
    outside = [catalogue[name] for name in graph.ancestors(affected) if name not in affected]
    known = here or not outside or bool(forget.owners())
    roots = [name for name in sorted(affected) if not graph.references(name)]
    emptied = tuple(name for name in roots if catalogue[name].node.statement.user in forget.clients)
    asked = roots if forget.owners() else ()
    return Circumstances(
        level=forget.level,
        paradigm=paradigm,
        taught_outside=_taught(context, outside, forget) if known else None,
        past_graph=not machines and _made_by_a_line(context, [each for each in outside if each.version]),
        private=settings.learning.privacy is not None,
        attested=settings.committee.attested,
        emptied=emptied,
        unshown=tuple(
            name for name in asked if name not in emptied and catalogue[name].node.statement.samples is None
        ),
        machines=machines,
        withdraws=machines and not sums and settings.unlearning.unanswered == "withdraw",
        sums=sums,
        frozen=sums and "cid" in dict(architecture.options),
        others=by_class and not {*starts} >= {*affected, *graph.ancestors(affected)},
    )


def _with_class(context: FederationContext, catalogue: Catalogue, request: Request) -> set[str]:
    """The merged models whose parts were trained on a class to forget, by owners whose data is here."""
    users = {user.index: user for user in context.setup.users} if request.classes else {}
    return {
        name
        for name, placed in catalogue.models.items()
        if (user := users.get(placed.node.statement.user)) is not None
        and knows(user, request.forget, (each.forget for each in context.history.requests(placed)))
    }


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
