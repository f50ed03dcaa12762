# SPDX-License-Identifier: Apache-2.0
"""Carries an unlearning request through the graph, in either paradigm.

Parallel (Algorithm 1): all new weights at once, one certificate for all models.  Sequential (Algorithm 2):
model by model in topological order, a certificate each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

from blockful_py.chain.settlement import Executed
from blockful_py.costs import Operations, expected_parallel, expected_sequential, mean_references
from blockful_py.errors import KeyDestroyedError, UnlearningError, VerificationError
from blockful_py.keys.erasure import Erasure
from blockful_py.learning.federation import TrainedModel, initial_weights
from blockful_py.learning.form import form_of
from blockful_py.learning.plugins import failing_as
from blockful_py.learning.selection import Selection
from blockful_py.learning.tensor_parts import made_when_read
from blockful_py.learning.weights import Weights, equal
from blockful_py.on_demand import OnDemand
from blockful_py.pipeline.jobs.context import FederationContext
from blockful_py.pipeline.jobs.increments import CurrentIncrements
from blockful_py.pipeline.jobs.redaction import Redactor
from blockful_py.pipeline.jobs.training import load_model, load_models
from blockful_py.pipeline.run.operations import Counter
from blockful_py.pipeline.run.progress import Progress, Stopwatch
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.model_node import ModelNode, PlacedNode
from blockful_py.record.parts import announced, withdrawn
from blockful_py.record.request import Request
from blockful_py.types import Paradigm
from blockful_py.unlearning.choosing import Advice
from blockful_py.unlearning.cost import Cost
from blockful_py.unlearning.method import IncrementsUsed, Method, ModelUpdate, Need
from blockful_py.unlearning.propagation import delta, length
from blockful_py.unlearning.proxy import available_proxy, balanced_proxy
from blockful_py.unlearning.task import UnlearningTask
from blockful_py.unlearning.withdraw import Withdraw

PROXY_SAMPLES = 10
"""Samples of each retained class, for methods that read a proxy set."""


@dataclass(frozen=True, slots=True)
class Unlearned:
    """The outcome of a request.

    Attributes:
        affected: starts and descendants, in topological order.
        nodes: new node of every replaced model, including those replaced before a crash.
        skipped: by unchanged model, the norm of its update, which was below epsilon.
        counted, formula: operations as counted, and by the paper's formula.
        depth_bound, depth_observed: theorem 1, in edges.
        delta_norm: longest change of a start (L2), for methods that pass changes on.
        executed: transactions, in order.
        seconds: wall time by stage.
        cost: sample passes of the request.
        increments: sources of its clean increments.
        unusable: by model, why a stored increment of a current version was made again.
        erasure: outcome of the destruction of the replaced versions' keys; None before it.
        excluded: members that were excluded from its decisions, each with the reason.
    """

    paradigm: Paradigm
    request: Request
    affected: tuple[str, ...]
    nodes: Mapping[str, ModelNode]
    skipped: Mapping[str, float]
    counted: Operations
    formula: Operations
    depth_bound: int | None
    depth_observed: int
    delta_norm: float | None
    executed: tuple[Executed, ...]
    seconds: Mapping[str, float]
    cost: Cost | None = None
    increments: IncrementsUsed | None = None
    unusable: Mapping[str, str] = field(default_factory=dict)
    erasure: Erasure | None = None
    excluded: tuple[str, ...] = ()
    advice: Advice = field(default_factory=Advice)


class Unlearner:
    """Carries out one request on one federation."""

    def __init__(self, context: FederationContext, progress: Progress) -> None:
        self._context = context
        self._progress = progress
        self._counter = Counter()
        self._stopwatch = Stopwatch()
        self._erased: set[str] = set()
        self._stored: CurrentIncrements | None = None
        self._redactor = Redactor(context, self._counter, self._stopwatch)

    def run(self, catalogue: Catalogue, request: Request, method: Method) -> Unlearned:
        """Unlearns the models that this request has not changed yet.

        Raises:
            UnlearningError, UnknownClassError, UnknownModelError: the request cannot be carried out.
            QuorumError: the committee refused it; no model was changed, or only earlier ones.
        """
        if isinstance(method, Withdraw):
            return self._withdrawn(catalogue, request)
        task = self._task(catalogue, request, method)
        if request.paradigm == Paradigm.PARALLEL:
            return self._parallel(catalogue, request, method, task)
        return self._sequential(catalogue, request, method, task)

    def _withdrawn(self, catalogue: Catalogue, request: Request) -> Unlearned:
        """Withdraws every adopted model that the request reaches, under one certificate."""
        starts = tuple(start.name for start in request.starts)
        depths, done = catalogue.graph.depth(starts), replaced_for(catalogue, request)
        affected = tuple(name for name in catalogue.graph.topological_order() if name in depths)
        nodes = {
            name: withdrawn(catalogue[name], request) for name in affected if name in catalogue.with_weights
        }
        executed: list[Executed] = []
        if nodes:
            live = self._context.stores.live
            self._context.hand_out(live.add_each((node.to_bytes(),) for node in nodes.values()))
            executed += self._redactor.replace(catalogue, {}, request, (), handed_in=nodes).executed
        heights = {catalogue[name].position.height for name in nodes}
        return Unlearned(
            paradigm=Paradigm(request.paradigm),
            request=request,
            affected=affected,
            nodes=done | nodes,
            skipped={},
            counted=self._counter.total,
            formula=expected_parallel(len(nodes), len(heights)) if nodes else Operations(),
            depth_bound=None,
            depth_observed=max(each.longest for each in depths.values()),
            delta_norm=None,
            executed=tuple(executed),
            seconds=dict(self._stopwatch.seconds),
        )

    def _task(self, catalogue: Catalogue, request: Request, method: Method) -> UnlearningTask:
        starts = tuple(start.name for start in request.starts)
        graph = catalogue.graph
        affected = {*starts, *graph.descendants(starts)}
        wanted = affected | set(chain.from_iterable(map(graph.references, affected)))
        if Need.HOLDERS_DATA in method.needs:
            wanted |= set(graph.ancestors(affected))
        if request.chooses_again:
            wanted = set(catalogue.with_weights)
        proxy = None
        if Need.PROXY_DATA in method.needs:
            proxy = balanced_proxy(self._context.setup.dataset.proxy, request.forget, PROXY_SAMPLES)
        elif Need.PROXY_WHERE_THERE in method.needs:
            proxy = available_proxy(self._context.setup.dataset.proxy, request.forget, PROXY_SAMPLES)
        if Need.HOLDERS_DATA in method.needs:
            self._stored = CurrentIncrements(catalogue, request.forget, self._context.weights)
        return UnlearningTask(
            graph=graph,
            models=OnDemand(wanted, lambda name: self._before(catalogue[name], request)),
            users={user.index: user for user in self._context.setup.users},
            architecture=self._context.setup.architecture,
            initial=made_when_read(
                form_of(self._context.setup.architecture).tensors,
                lambda: initial_weights(self._context.setup.federation),
            ),
            starts=starts,
            forget=request.forget,
            seed=self._context.setup.federation.seed,
            proxy=proxy,
            earlier=self._context.history.earlier_forgets([catalogue[name] for name in wanted], request),
            stored=self._stored or {},
            trainer=self._context.setup.federation.trainer,
            fitter=self._context.setup.federation.fitter,
            changer=self._context.changer,
            used=catalogue.used,
            selection=Selection.of(self._context.setup.federation),
        )

    def _before(self, placed: PlacedNode, request: Request) -> TrainedModel:
        """A model before this request, read from the archive if the request has replaced it.

        Erasure is a request's last step; once that version is erased, returns the current model.
        """
        model = load_model(placed, self._context.weights)
        redaction = placed.node.redaction
        if redaction is None or redaction.request != request:
            return model
        older = self._context.history.version(placed.position, placed.version - 1)
        try:
            return replace(model, weights=self._context.archived_weights.read(older.weights))
        except KeyDestroyedError:
            self._erased.add(model.name)
            return model

    def _parallel(
        self, catalogue: Catalogue, request: Request, method: Method, task: UnlearningTask
    ) -> Unlearned:
        together = self._progress.stage(f"unlearn {len(task.affected())} models together", None)
        failing = failing_as(UnlearningError, f"method {method.name!r}")
        with together, self._stopwatch("unlearn"), failing:
            outcome = method.unlearn(task)
        pending = self._pending(catalogue, outcome.weights, request)
        resigned = self._resigned(catalogue, request, method, task)
        redaction = None
        if pending:
            chosen, shown = outcome.references, self._progress
            redaction = self._redactor.replace(catalogue, pending, request, resigned, chosen, progress=shown)
        heights = {catalogue[name].position.height for name in pending}
        return replace(
            self._unlearned(request, task),
            nodes=replaced_for(catalogue, request) | (redaction.nodes if redaction else {}),
            skipped=outcome.skipped,
            formula=expected_parallel(len(pending), len(heights)) if pending else Operations(),
            depth_bound=outcome.depth_bound,
            depth_observed=outcome.depth_observed,
            delta_norm=_longest_change(task, outcome.weights) if outcome.path_weights else None,
            executed=tuple(redaction.executed) if redaction else (),
            cost=outcome.cost,
            increments=outcome.increments,
        )

    def _sequential(
        self, catalogue: Catalogue, request: Request, method: Method, task: UnlearningTask
    ) -> Unlearned:
        nodes: dict[str, ModelNode] = {}
        earlier = replaced_for(catalogue, request)
        executed: list[Executed] = []
        fresh: dict[str, Weights] = {}
        cost: Cost | None = None
        increments: IncrementsUsed | None = None
        resigned = self._resigned(catalogue, request, method, task)
        with self._progress.stage("unlearn model by model", len(task.affected())) as advance:
            for step in self._steps(request, method, task, fresh):
                name, weights, cost, increments = step.name, step.weights, step.cost, step.increments
                fresh[name] = weights
                if self._pending(catalogue, {name: weights}, request):
                    new, chosen = {name: weights}, {} if step.references is None else {name: step.references}
                    redaction = self._redactor.replace(catalogue, new, request, resigned, chosen)
                    nodes.update(redaction.nodes)
                    executed += redaction.executed
                    catalogue = self._context.record.catalogue.read()
                advance(1)
        updated = [name for name in task.affected() if name in nodes]
        above = {name: _above(task, name, request) for name in updated}
        formula = Operations()
        if updated:
            formula = expected_sequential(len(updated), mean_references(above, updated))
        depths = task.graph.depth(task.starts)
        return replace(
            self._unlearned(request, task),
            nodes=earlier | nodes,
            formula=formula,
            depth_observed=max((depths[name].longest for name in fresh), default=0),
            executed=tuple(executed),
            cost=cost,
            increments=increments,
        )

    def _unlearned(self, request: Request, task: UnlearningTask) -> Unlearned:
        """The figures that both paradigms share; the others are empty."""
        return Unlearned(
            paradigm=Paradigm(request.paradigm),
            request=request,
            affected=task.affected(),
            nodes={},
            skipped={},
            counted=self._counter.total,
            formula=Operations(),
            depth_bound=None,
            depth_observed=0,
            delta_norm=None,
            executed=(),
            seconds=dict(self._stopwatch.seconds),
            unusable=dict(self._stored.unusable) if self._stored else {},
        )

    def _steps(
        self,
        request: Request,
        method: Method,
        task: UnlearningTask,
        fresh: Mapping[str, Weights],
    ) -> Iterator[ModelUpdate]:
        """The method's steps; before each but the first, the model's owner fetches the references."""
        what = f"method {method.name!r}"
        with failing_as(UnlearningError, what):
            steps = method.steps(task)
        for number, name in enumerate(task.affected()):
            if number and Need.DESCENDANT_DATA in method.needs:
                with self._stopwatch("store"):
                    self._fetch_references(task, name, fresh, request)
            with self._stopwatch("unlearn"), failing_as(UnlearningError, what):
                step = next(steps, None)
            if step is None:
                return
            yield step

    def _fetch_references(
        self, task: UnlearningTask, name: str, fresh: Mapping[str, Weights], request: Request
    ) -> None:
        """Downloads the models that a model may be trained from, and compares their weights."""
        catalogue = self._context.record.catalogue.read()
        fetched = load_models(catalogue, _above(task, name, request), self._context.weights)
        for reference, model in fetched.items():
            self._counter.downloaded()
            expected = fresh.get(reference, task.models[reference].weights)
            if not equal(model.weights, expected):
                raise VerificationError(
                    "content", f"model {reference}", "the live chain has other weights than were computed"
                )

    def _pending(
        self, catalogue: Catalogue, new: Mapping[str, Weights], request: Request
    ) -> Mapping[str, Weights]:
        """The new weights of the models that this request has not replaced yet."""
        done = replaced_for(catalogue, request)
        left = [name for name in new if name not in done]
        if left and self._erased:
            raise UnlearningError(
                f"{', '.join(left)} cannot be unlearned any more in this request: the versions "
                f"of {', '.join(self._erased)} before it are erased. The job has failed: make "
                "another request."
            )
        return OnDemand(left, new.__getitem__)

    @staticmethod
    def _resigned(
        catalogue: Catalogue, request: Request, method: Method, task: UnlearningTask
    ) -> frozenset[str]:
        by_all = Need.DESCENDANT_DATA in method.needs
        return frozenset(task.affected()) if by_all else announced(request, catalogue)


def replaced_for(catalogue: Catalogue, request: Request) -> dict[str, ModelNode]:
    """The nodes that a request has put on the chain."""
    nodes = {name: placed.node for name, placed in catalogue.models.items()}
    return {
        name: node for name, node in nodes.items() if node.redaction and node.redaction.request == request
    }


def _above(task: UnlearningTask, name: str, request: Request) -> tuple[str, ...]:
    """The models that a request may train a model from."""
    if request.chooses_again and task.selection is not None:
        return task.selection.candidates(name, task.models.keys())
    return task.references(name)


def _longest_change(task: UnlearningTask, new: Mapping[str, Weights]) -> float:
    """Largest |w'_s - w_s| (L2) over the starts."""
    return max(length(delta(task.models[name].weights, new[name])) for name in task.starts)
