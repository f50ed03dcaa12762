# SPDX-License-Identifier: Apache-2.0
"""New models of sums among machines (`learning.sums`): a leader's, and an owner's part.

A request for a client, or of sums over samples for a class, needs nobody's data, so a member computes all
new models and the others compute them again.  Owners of samples, or of merged models that start a request for
a class, make new parts from the rows that they keep.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from blockful_py.committee.service.messages import HeadRequest
from blockful_py.errors import UnlearningError
from blockful_py.forget import Forget, Level
from blockful_py.learning.federation import initial_weights
from blockful_py.learning.forget_sets import retained_after
from blockful_py.learning.sums import OWN
from blockful_py.learning.together import Fitter, fit_together
from blockful_py.learning.weights import Weights
from blockful_py.on_demand import OnDemand
from blockful_py.pipeline.jobs.context import FederationContext
from blockful_py.pipeline.jobs.shared import deal, new_heads, open_heads, part_bytes
from blockful_py.pipeline.jobs.training import trained_model
from blockful_py.pipeline.review.shared_pools import samples_of
from blockful_py.pipeline.review.sums import subtraction_of
from blockful_py.record.model_node import ModelNode
from blockful_py.record.request import Request
from blockful_py.record.request_state import RequestStanding
from blockful_py.record.statement_parts import SharedPart
from blockful_py.unlearning.subtract import new_parts, subtracted


def new_sums(
    context: FederationContext,
    status: RequestStanding,
    names: Sequence[str],
    handed_in: Mapping[str, ModelNode],
) -> Mapping[str, Weights]:
    """The new state dicts of `names`, in topological order, that nobody handed in.

    Whether the parts are right is the members' review, whose refusal others see.

    Raises as `subtracted`, and StorageError or KeyDestroyedError for weights that cannot be read.
    """
    if context.setup.architecture.is_shared:
        wanted = [name for name in names if name not in handed_in]
        return dict(zip(wanted, new_heads(context, status.number, wanted), strict=True))
    announced = context.weights.on_demand([node.weights for node in handed_in.values()])
    parts = {name: announced[node.weights][OWN] for name, node in handed_in.items()}
    asked = subtraction_of(status.request, status.record)
    new = subtracted(asked, names, current_sums(context, status), parts)
    return OnDemand((name for name in names if name not in handed_in), new.__getitem__)


def new_sums_of_owner(
    context: FederationContext, status: RequestStanding, name: str, fitter: Fitter = fit_together
) -> Weights:
    """The new state dict of a start whose owner, the one user here, has a part of the request.

    In parallel the owner's starts may inherit from each other: the models between them are computed too.

    `fitter`: trains the start's own part, if it is a merged model.

    Raises UnlearningError if earlier requests took the samples already, otherwise as `subtracted`.
    """
    (user,) = context.setup.users
    record, request = status.record, status.request
    own, names = [name], [name]
    if status.is_parallel:
        above = set(record.graph.ancestors([name]))
        own = [each for each in status.with_parts if record[each].node.statement.user == user.index]
        names = [each for each in status.affected if each == name or each in above]
    earlier = context.history.earlier_forgets([record[each] for each in own], request)
    forgets = {each: (request.forget, *earlier[each]) for each in own}
    old = current_sums(context, status)
    models = {each: trained_model(record[each], old[each]) for each in own}
    setup = context.setup
    common = (setup.architecture, initial_weights(setup.federation), user, models)
    seed, fitters = setup.federation.seed, {name: fitter}
    parts = {
        each: new_parts(*common, {each: named}, seed, fitters.get(each, fit_together))[each]
        for each, named in forgets.items()
    }
    if request.samples and all(part.equal(old[each][OWN]) for each, part in parts.items()):
        raise UnlearningError(_forgotten_before(name, request))
    asked = subtraction_of(request, record)
    return subtracted(asked, names, old, parts)[name]


def new_part_of_owner(
    context: FederationContext, status: RequestStanding, name: str
) -> tuple[Weights, SharedPart]:
    """The new head of a start whose owner, the one user here, has samples to forget, and its new shared part.

    Raises as `new_sums_of_owner`, `deal` and `open_heads`.
    """
    (user,) = context.setup.users
    placed = status.record[name]
    old = placed.node.shared
    if old is None:
        raise UnlearningError(f"{name} has no shared part: there is nothing to take out of it.")
    earlier = context.history.earlier_forgets([placed], status.request)[name]
    by_owner = [each for each in (status.request.forget, *earlier) if each.level is not Level.CLASS]
    labels = samples_of(old)
    if struck := sorted({*retained_after(user, by_owner).classes()} - {*labels}):
        by_owner.append(Forget.of_classes(struck))
    if len(retained_after(user, by_owner)) == sum(labels.values()):
        raise UnlearningError(_forgotten_before(name, status.request))
    part = deal(context, name, user, by_owner, old.struck)
    (head,) = open_heads(context, HeadRequest((name,), status.number, (), part_bytes(part)))
    return head, part


def _forgotten_before(name: str, request: Request) -> str:
    return f"{name} has forgotten {request.forget} before: there is nothing left to take out of it."


def current_sums(context: FederationContext, status: RequestStanding) -> Mapping[str, Weights]:
    """The current state dicts of the models that a request affects, and of their references."""
    record = status.record
    names = {*status.affected, *chain.from_iterable(map(record.graph.references, status.affected))}
    uris = {name: record[name].node.weights for name in names}
    weights = context.weights.on_demand([*uris.values()])
    return OnDemand(names, lambda name: weights[uris[name]])
