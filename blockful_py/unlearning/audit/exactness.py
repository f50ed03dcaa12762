# SPDX-License-Identifier: Apache-2.0
"""Exact forgetting, tested by execution: no bit of the result depends on the forgotten samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

import torch
from torch import Tensor

from blockful_py.errors import UnlearningError
from blockful_py.forget import Forget, Level
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.learning.candidates import ScoredModel
from blockful_py.learning.data import Samples, UserData, pooled
from blockful_py.learning.federation import TrainedModel
from blockful_py.learning.forget_sets import forget_set, rows_after
from blockful_py.learning.streams import generator
from blockful_py.learning.sums import OWN
from blockful_py.learning.weights import Weights, aggregate
from blockful_py.types import References
from blockful_py.unlearning.audit.fresh import digests_of
from blockful_py.unlearning.audit.references import OTHERS_SHIFT, retrained_reached
from blockful_py.unlearning.method import Method
from blockful_py.unlearning.stored_increments import StoredIncrement
from blockful_py.unlearning.task import UnlearningTask

DRAWS = 3
"""Other worlds that a method must not tell from the real one."""

ATTEMPTS = 32
"""Maximum number of draws of other references for a model, until one leaves the request's reach as it is."""

Store = Callable[[UnlearningTask], Mapping[str, StoredIncrement]]
"""Makes the increments that owners store at publication."""


def is_exact(
    task: UnlearningTask,
    method: Method,
    store: Store | None = None,
    draws: int = DRAWS,
    references: References = References.KEPT,
) -> bool:
    """Whether a method makes the same bits in other worlds, where other samples are to be forgotten.

    Each run has a process of its own (`fresh`), which knows its task alone; `other_worlds` lists the
    replaced data.  If all runs agree, the new weights tell only the owners of the forgotten samples, and the
    models that these reached.  With references kept, the graph may tell more, since references were chosen by
    models that knew these samples.

    Args:
        method: a new object, since all its attributes come along.
        store: makes the stored increments of each world.
        references: "kept" tests that the method is exact given the graph, "chosen again" that it is exact
            with the graph chosen again.

    Raises UnlearningError: the method cannot be sent to another process, or ends in an error there; the graph
        is to be chosen again, and eq. 1 did not choose it.
    """
    if store is not None:
        task = replace(task, stored=store(task))
    return agree(digests_of(method, task), method, other_worlds(task, draws, references), store)


def agree(
    found: Mapping[str, str] | None,
    method: Method,
    worlds: Iterable[UnlearningTask],
    store: Store | None = None,
) -> bool:
    """Whether a method makes models of these SHA-256 digests in every world; False for None.

    Raises UnlearningError as `is_exact`.
    """
    if found is None:
        return False
    stored = (world if store is None else replace(world, stored=store(world)) for world in worlds)
    return all(digests_of(method, world) == found for world in stored)


def other_worlds(
    task: UnlearningTask, draws: int = DRAWS, references: References = References.KEPT
) -> Iterator[UnlearningTask]:
    """The task in `draws` worlds that differ in everything that forgotten samples have reached.

    Forgotten samples have other values (standard normal, or any token), other labels (of known classes;
    forgotten classes keep theirs) and another number (up to twice as many).  Reached models have other
    weights (retrained without these samples from other seeds), accuracies and curves.  Nothing is stored at
    publication.  Owners, the graph, and all other data and models stay.

    If references are chosen again, reached models have other references too, drawn from their candidates such
    that the request affects the same models, and forgotten samples have reached the same.
    """
    return (_world(task, draw, references) for draw in range(draws))


def _world(task: UnlearningTask, draw: int, references: References) -> UnlearningTask:
    stream = generator(task.seed, "other worlds", str(draw))
    if references is References.CHOSEN_AGAIN:
        task = _otherwise_chosen(task, stream)
    users = {index: _other(task, user, stream) for index, user in task.users.items()}
    forget = task.forget
    if forget.level is Level.SAMPLE:
        added = [
            (index, row)
            for index, user in users.items()
            for row in range(len(task.users[index].train), len(user.train))
        ]
        forget = Forget.of_samples([*forget.samples, *added])
    world = replace(task, users=users, forget=forget, stored={})
    weights = retrained_reached(world, OTHERS_SHIFT + draw)
    if task.architecture.is_sums:
        weights = _with_parts(task, weights)
    return replace(world, models={**task.models, **_others(task, weights, stream)})


def _with_parts(task: UnlearningTask, weights: Mapping[str, Weights]) -> dict[str, Weights]:
    """Reached models of sums with other parts of the owners of forgotten samples; other parts stay."""
    taught, made = {*task.taught()}, dict[str, Weights]()
    for name in task.reached():
        own = weights[name] if name in taught else task.models[name].weights
        references = [made.get(each, task.models[each].weights) for each in task.references(name)]
        made[name] = {**(aggregate(references) if references else task.initial), OWN: own[OWN]}
    return made


def _otherwise_chosen(task: UnlearningTask, stream: torch.Generator) -> UnlearningTask:
    """The task with other references of the reached models, as `other_worlds` describes them."""
    if task.selection is None:
        raise UnlearningError("eq. 1 did not choose this graph, so it cannot be chosen again.")
    affected, reached, holders = {*task.affected()}, {*task.reached()}, {*task.taught()}
    models, used = dict(task.models), dict(task.used)
    for name in reached:
        pool, count = task.selection.candidates(name, task.models.keys()), len(task.references(name))
        for _ in range(ATTEMPTS if count else 0):
            order = torch.randperm(len(pool), generator=stream).tolist()
            drawn = tuple(pool[place] for place in order[:count])
            inherits, meets = not affected.isdisjoint(drawn), not reached.isdisjoint(drawn)
            if name in task.starts or (inherits == (name in affected) and (meets or name in holders)):
                unmeasured = tuple(ScoredModel(each, None) for each in drawn)
                models[name], used[name] = replace(models[name], references=unmeasured), drawn
                break
    graph = {name: used.get(name, task.graph.references(name)) for name in task.graph.names}
    return replace(task, graph=InheritanceGraph.from_references(graph), models=models, used={})


def _other(task: UnlearningTask, user: UserData, stream: torch.Generator) -> UserData:
    """The user with other forgotten samples, and more of them at the end; the kept ones stay in place."""
    train = user.train
    forgotten = torch.ones_like(train.y, dtype=torch.bool)
    forgotten[rows_after(user, task.all_forgets)] = False
    count = len(forget_set(task.forget, user))
    more = int(torch.randint(1, count + 1, (), generator=stream)) if count else 0
    source = forget_set(task.forget, user).at(torch.zeros(more, dtype=torch.int64))
    grown = pooled([train, source]) if more else train
    forgotten = torch.cat([forgotten, torch.ones(more, dtype=torch.bool, device=forgotten.device)])
    x, y = grown.x.clone(), grown.y.clone()
    x[forgotten] = _values(x, int(forgotten.sum()), stream)
    classes = sorted({label for forget in task.all_forgets for label in forget.classes})
    kept = [label for label in train.classes() if label not in classes]
    in_classes = torch.isin(y, torch.tensor(classes, dtype=y.dtype, device=y.device))
    for labels, rows in ((kept, forgotten & ~in_classes), (classes, forgotten & in_classes)):
        if labels:
            drawn = torch.randint(len(labels), (int(rows.sum()),), generator=stream)
            y[rows] = torch.tensor(labels, dtype=y.dtype)[drawn].to(y.device)
    return replace(user, train=Samples(x, y))


def _values(x: Tensor, count: int, stream: torch.Generator) -> Tensor:
    shape = (count, *x.shape[1:])
    if x.is_floating_point():
        return torch.randn(shape, generator=stream).to(x)
    return torch.randint(int(x.max()) + 1, shape, generator=stream).to(x)


def _others(
    task: UnlearningTask, weights: Mapping[str, Weights], stream: torch.Generator
) -> dict[str, TrainedModel]:
    """All models that were reached, as independent trainings with made-up accuracies."""

    def share() -> float:
        return float(torch.rand((), generator=stream))

    return {
        name: replace(
            task.models[name],
            weights=weights[name],
            accuracy=share(),
            references=tuple(replace(each, accuracy=share()) for each in task.models[name].references),
            curve=None,
        )
        for name in weights
    }
