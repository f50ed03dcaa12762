# SPDX-License-Identifier: Apache-2.0
"""A request among machines: each owner does its part with its own data, and a member collects the parts.

Parallel: the owners whose data the method needs hand in their signed new models; a leader proposes them and
the models derived from them, under one certificate.  Sequential: each owner in turn proposes its own model,
once its references are replaced.  By waves, owners of unaffected ancestors hand in clean models before.
Members check the same as in a laboratory's proposal.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from types import MappingProxyType

from blockful_py.engine.jobs import Act, PlannedStep
from blockful_py.errors import BlockfulError, RunError, UnlearningError
from blockful_py.forget import Forget, Level
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.learning.federation import initial_weights
from blockful_py.learning.plugins import failing_as
from blockful_py.learning.together import fit_together
from blockful_py.learning.weights import Weights
from blockful_py.on_demand import OnDemand
from blockful_py.pipeline.jobs.context import FederationContext
from blockful_py.pipeline.jobs.increments import CurrentIncrements
from blockful_py.pipeline.jobs.redaction import Disclosed, Redactor
from blockful_py.pipeline.jobs.spot_check import CheckableTraining
from blockful_py.pipeline.jobs.sums import new_part_of_owner, new_sums, new_sums_of_owner
from blockful_py.pipeline.jobs.training import load_model, trained_model
from blockful_py.pipeline.jobs.unlearning import PROXY_SAMPLES
from blockful_py.pipeline.jobs.unstore import missing_files
from blockful_py.pipeline.review.claims import measure
from blockful_py.pipeline.review.clean_references import NO_REFERENCES, CleanReferences
from blockful_py.pipeline.review.methods import is_shown, parse_method
from blockful_py.pipeline.run.identities import address_of
from blockful_py.pipeline.run.operations import Counter
from blockful_py.pipeline.run.progress import Stopwatch
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.model_node import MAX_NODE_BYTES, ModelNode, PlacedNode, parse_node
from blockful_py.record.parts import withdrawn
from blockful_py.record.request import Request
from blockful_py.record.request_state import RequestStanding
from blockful_py.record.shown import by_waves
from blockful_py.record.statement_parts import SharedPart
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import Paradigm, Uri
from blockful_py.unlearning.method import Method, Need
from blockful_py.unlearning.proxy import balanced_proxy
from blockful_py.unlearning.recompute import is_recomputable, recompute
from blockful_py.unlearning.retraining import aggregate_of
from blockful_py.unlearning.subtract import Subtract
from blockful_py.unlearning.task import UnlearningTask

_log = logging.getLogger(__name__)

ATTEMPTS = 3
"""Maximum number of attempts to train an own part whose accuracy falls."""


class OwnParts:
    """Does the parts of the one user whose data is here."""

    def __init__(self, context: FederationContext) -> None:
        self._context = context
        self._redactor = Redactor(context, Counter(), Stopwatch())
        (self._user,) = context.setup.users

    def due(self, status: RequestStanding) -> tuple[str, ...]:
        """Own models whose parts can be done now."""
        return status.due(address_of(self._context.accounts.secret(self._user.index)))

    def take(self, status: RequestStanding, name: str) -> ModelNode | None:
        """Unlearns an own model, and hands it in or has it replaced.  A job must be open.

        Returns None if it has to wait for an auditor, to whom it has shown the training.

        The owner of an auxiliary model hands in the published node if the data has not reached it, or its
        clean model is stored, unless it lets members check its training.

        Raises UnlearningError if only the initial weights would be left, where members withdraw such a model.
        """
        request, catalogue = status.request, self._context.record.catalogue.read()
        method = parse_method(request.method, self._context.run.allowed_code)
        if isinstance(method, Subtract) and self._context.setup.architecture.is_shared:
            weights, part = new_part_of_owner(self._context, status, name)
            return self._handed_on(status, catalogue, name, weights, parts={name: part})
        if isinstance(method, Subtract):
            return self._summed(status, catalogue, name)
        references = self._references(status, name)
        checkable = CheckableTraining.of(self._context, status, name)
        if checkable is not None and checkable.is_awaited:
            return None
        task = self._task(status, references, method, name, checkable)
        untouched = references.as_published and not task.is_taught(name)
        is_there = name in status.auxiliary and (untouched or name in status.settled)
        if is_there and checkable is None:
            return self._hand_in_published(status, catalogue[name])
        untrained = self._must_show(request, method) and (checkable is None or not task.keeps(name))
        if untrained:
            weights, shown = self._mean(task, name), None
        else:
            weights = self._unlearned(task, method, catalogue[name].node, request)
            shown = None if checkable is None else checkable.disclose(references, task.forgets(name))
            if checkable is not None and shown is None and checkable.is_pending:
                return None
            if checkable is not None and shown is None and self._must_show(request, method):
                weights, untrained = self._mean(task, name), True
        if untrained and not references.weights and status.withdraws:
            raise UnlearningError(
                f"nobody can check a training of {name}, and it has no reference with weights: members "
                "withdraw it once its owner's time is over; let it be checked (--disclose) to keep it."
            )
        disclosures = {} if shown is None else {name: shown}
        return self._handed_on(status, catalogue, name, weights, disclosures, untrained)

    def _summed(self, status: RequestStanding, catalogue: Catalogue, name: str) -> ModelNode | None:
        """A model's new sums; of a merged one, members may check how its part was trained.

        Returns None as `take`.
        """
        checkable = CheckableTraining.of(self._context, status, name)
        if checkable is None:
            return self._handed_on(status, catalogue, name, new_sums_of_owner(self._context, status, name))
        if checkable.is_awaited:
            return None
        weights = new_sums_of_owner(self._context, status, name, checkable.recorder)
        shown = checkable.disclose(NO_REFERENCES, (status.request.forget, *self._earlier(status, name)))
        if shown is None and checkable.is_pending:
            return None
        return self._handed_on(status, catalogue, name, weights, {} if shown is None else {name: shown})

    def _handed_on(
        self,
        status: RequestStanding,
        catalogue: Catalogue,
        name: str,
        weights: Weights,
        disclosures: Mapping[str, Disclosed] = MappingProxyType({}),
        untrained: bool = False,
        parts: Mapping[str, SharedPart] = MappingProxyType({}),
    ) -> ModelNode:
        """Hands in a model's new weights, or has it replaced."""
        if status.hands_in(name):
            return self._hand_in(status, catalogue, name, weights, disclosures, untrained, parts)
        done = self._redactor.replace(
            *(catalogue, {name: weights}, status.request, (name,)),
            disclosures=disclosures,
            untrained=(name,) * untrained,
            parts=parts,
        )
        return done.nodes[name]

    def _must_show(self, request: Request, method: Method) -> bool:
        """Whether members take no part that is only measured, nor the owner's word."""
        attested = self._context.run.settings.committee.attested
        by_class = request.forget.level is Level.CLASS
        return is_shown(method) and not (by_class or attested)

    def _mean(self, task: UnlearningTask, name: str) -> Weights:
        """The mean of a model's new references, which takes its place without a training."""
        if task.keeps(name):
            _log.warning(
                "%s becomes the mean of its references: nobody may check its owner's training (--disclose)",
                name,
            )
        return aggregate_of(task, name, {})

    def _references(self, status: RequestStanding, name: str) -> CleanReferences:
        """Waits for unusable parts of references while half of this owner's time is left."""
        context = self._context
        patient = not (status.presses((name,)) or status.record[name].node.is_withdrawn)
        live = context.contracts.live
        return CleanReferences.of(status, name, context.weights, context.stores.live, live, patient)

    def _hand_in(
        self,
        status: RequestStanding,
        catalogue: Catalogue,
        name: str,
        weights: Weights,
        disclosures: Mapping[str, Disclosed],
        untrained: bool,
        parts: Mapping[str, SharedPart],
    ) -> ModelNode:
        placed, journal = catalogue[name], self._context.journal
        made = self._redactor.make(
            *(catalogue, {name: weights}, status.request, (name,)),
            disclosures=disclosures,
            untrained=(name,) * untrained,
            parts=parts,
        )
        sealed, node = made[name]
        disclosed = [each.sealed for each in disclosures.values()]
        data, live = node.to_bytes(), self._context.stores.live
        cids = missing_files(live, [sealed.uri, *(each.uri for each in disclosed), file_uri(data)])
        store, keys = journal.plan(
            [PlannedStep(Act.STORE, name, {"cids": cids}), PlannedStep(Act.KEYS, name)]
        )
        with journal.taking(store):
            files = (each.pieces() for each in (sealed, *disclosed))
            self._context.hand_out(live.add_each(chain(files, [(data,)])))
        with journal.taking(keys):
            self._context.keys.give({sealed.uri: sealed.key})
            if disclosed:  # auditors must not see samples
                self._context.keys.keyring.deliver({each.uri: each.key for each in disclosed})
            self._context.contracts.participants.hand_in(status.number, placed.position, file_uri(data))
        return node

    def _hand_in_published(self, status: RequestStanding, placed: PlacedNode) -> ModelNode:
        (step,) = self._context.journal.plan([PlannedStep(Act.KEYS, placed.node.name)])
        with self._context.journal.taking(step):
            self._context.contracts.participants.hand_in(status.number, placed.position, placed.uri)
        return placed.node

    def _unlearned(self, task: UnlearningTask, method: Method, node: ModelNode, request: Request) -> Weights:
        """The new weights of a model.

        If they do worse on the retained data than before, by more than chance explains, trains again with
        another seed, and returns the best of ATTEMPTS.  A training that members spot-check keeps its
        committed seed, and one by waves the seed that a laboratory takes.
        """
        name, left_out = node.name, {node.name: node.removed_beside(request.classes)}
        before = {} if node.is_withdrawn else {name: task.models[name].weights}
        made: list[tuple[float, Weights]] = []
        repeats = task.fitter is fit_together and not by_waves(request)
        for attempt in range(ATTEMPTS if repeats else 1):
            with failing_as(UnlearningError, f"method {method.name!r}"):
                outcome = method.unlearn(replace(task, seed=task.seed + attempt))
            weights = outcome.weights[name]
            if outcome.increments is not None and name in outcome.increments.stored:
                _log.info("%s is replaced by its stored clean model: nothing is trained", name)
            claims = measure(self._context.setup, {name: weights}, request.classes, left_out, before)[name]
            made.append((claims.ad_r, weights))
            if not claims.is_loss:
                return weights
            _log.warning(
                "%s knows less of what it is to keep: %.1f %% after %.1f %% (attempt %d of %d)",
                name,
                100 * claims.ad_r,
                100 * (claims.before or 0),
                attempt + 1,
                ATTEMPTS,
            )
        return max(made, key=lambda each: each[0])[1]

    def _task(
        self,
        status: RequestStanding,
        references: CleanReferences,
        method: Method,
        name: str,
        checkable: CheckableTraining | None,
    ) -> UnlearningTask:
        """The task of one model's part: its clean references, its owner's data, and its stored clean model.

        A training that members spot-check is done for the request.
        """
        request, placed = status.request, status.record[name]
        graph = InheritanceGraph.from_references(
            {**dict.fromkeys(references.weights, ()), name: tuple(references.weights)}
        )
        models = {each: trained_model(status.record[each], w) for each, w in references.weights.items()}
        setup = self._context.setup
        proxy = None
        if Need.PROXY_DATA in method.needs:
            proxy = balanced_proxy(setup.dataset.proxy, request.forget, PROXY_SAMPLES)
        initial, store = initial_weights(setup.federation), self._context.weights
        own = trained_model(placed, initial) if placed.node.is_withdrawn else load_model(placed, store)
        return UnlearningTask(
            graph=graph,
            models={name: own, **models},
            users={self._user.index: self._user},
            architecture=setup.architecture,
            initial=initial,
            starts=(name,),
            forget=request.forget,
            seed=setup.federation.seed if checkable is None else checkable.seed,
            proxy=proxy,
            earlier={name: self._earlier(status, name)},
            stored={} if checkable else CurrentIncrements(status.record, request.forget, store),
            alone=True,
            trainer=setup.federation.trainer,
            fitter=fit_together if checkable is None else checkable.recorder,
        )

    def _earlier(self, status: RequestStanding, name: str) -> tuple[Forget, ...]:
        """The data of earlier requests that a part leaves out.

        An auxiliary model is trained only for affected ones, so it leaves out all that they must not know.
        """
        names = (name, *status.affected) if name in status.auxiliary else (name,)
        earlier = self._context.history.earlier_forgets(
            [status.record[each] for each in names], status.request
        )
        return tuple(dict.fromkeys(chain.from_iterable(earlier.values())))


class PartCollector:
    """Proposes owners' hand-ins and the models derived from them, and withdraws overdue models."""

    def __init__(self, context: FederationContext) -> None:
        self._context = context
        self._redactor = Redactor(context, Counter(), Stopwatch())

    def replace(self, status: RequestStanding) -> None:
        """Replaces all models of a parallel request, or the next of a sequential one, if any are left.

        A job must be open.  Raises RunError while parts are missing, UnlearningError for a part that is
        unusable.
        """
        request, record, left = status.request, status.record, status.missing
        if not left:
            return
        if not (status.stage.is_open and status.ready):
            raise RunError(
                f"request {status.number} is {status.stage} and waits for parts of {', '.join(left)}."
            )
        nodes = self._nodes(status.newest_parts)
        method = parse_method(request.method, self._context.run.allowed_code)
        follows: Mapping[str, Weights] = {}
        if isinstance(method, Subtract):
            next_ones = status.ready if status.is_parallel else status.ready[:1]
            follows = new_sums(self._context, status, next_ones, nodes)
        elif is_recomputable(method, Paradigm.PARALLEL):
            starts = tuple(start.name for start in request.starts)
            if not nodes.keys() >= set(starts):
                raise RunError(f"request {status.number} is carried out in part: its decision comes first.")
            uris = {name: record[name].node.weights for name in left}
            weights = self._context.weights.on_demand(
                [*uris.values(), *(nodes[name].weights for name in starts)]
            )
            old = OnDemand(left, lambda name: weights[uris[name]])
            announced = {name: weights[nodes[name].weights] for name in starts}
            new = recompute(method, record.trained_from, starts, old, announced)
            follows = OnDemand((name for name in new if name not in nodes), new.__getitem__)
        self._redactor.replace(record, follows, request, (), handed_in=nodes)

    def withdraw(self, status: RequestStanding) -> None:
        """Withdraws the models whose owners did not answer in time.  A job must be open.

        Raises RunError if every owner has answered or still has time.
        """
        names, record = status.unanswered(), status.record
        if not names:
            raise RunError(f"no model of request {status.number} is due for withdrawal now.")
        nodes = {name: withdrawn(record[name], status.request) for name in names}
        live = self._context.stores.live
        self._context.hand_out([live.add(node.to_bytes()) for node in nodes.values()])
        self._redactor.replace(record, {}, status.request, (), handed_in=nodes)

    def _nodes(self, parts: Mapping[str, Uri]) -> dict[str, ModelNode]:
        """The nodes that were handed in.  Members check their statements and figures."""
        nodes: dict[str, ModelNode] = {}
        for name, uri in parts.items():
            try:
                nodes[name] = parse_node(self._context.stores.live.read(uri, MAX_NODE_BYTES))
            except BlockfulError as error:
                raise UnlearningError(f"the part of {name} cannot be read: {error}") from None
        return nodes
