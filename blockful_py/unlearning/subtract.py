# SPDX-License-Identifier: Apache-2.0
"""Unlearning by subtraction, for models of sums (`learning.sums`): exact given the graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import ClassVar

import torch
from torch import Tensor

from blockful_py.errors import UnlearningError
from blockful_py.forget import LEVELS, Forget, Level
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.learning.data import Samples, UserData
from blockful_py.learning.federation import TRAIN, TrainedModel
from blockful_py.learning.forget_sets import knows, retained_after
from blockful_py.learning.models import Architecture
from blockful_py.learning.models.analytic import Analytic
from blockful_py.learning.sums import (
    CONSTANT,
    OWN,
    SHIFT,
    aggregate_sums,
    emptied,
    held,
    is_part,
    require_change,
    require_part,
    with_part,
    without_classes,
)
from blockful_py.learning.together import Fitter, fit_together, train_together
from blockful_py.learning.weights import Weights
from blockful_py.on_demand import OnDemand
from blockful_py.settings.rules import MERGED, SUMS
from blockful_py.types import Paradigm
from blockful_py.unlearning.cost import Meter
from blockful_py.unlearning.method import AllAtOnce, Method, Need, Outcome, Review, outcome_of
from blockful_py.unlearning.recipe import epochs_of, job_of
from blockful_py.unlearning.task import UnlearningTask


@dataclass(frozen=True, slots=True)
class Subtract(AllAtOnce):
    """Takes forgotten sums out of all affected models: `T'_y = T_y - sum_i A[y, i] s_i^f`.

    A class is struck out of T_y, and with it out of every ancestor's part.  Otherwise model after model is
    made of its own part and its references' new sums, as when it was published: a client's parts are then
    empty, and the owners of samples take these rows' sums out of the parts of the starts.  In merged models
    no class is apart: owners train the parts of the starts again, without the samples or the class.  A
    federation of this graph that never had the data would have the same sums, bit for bit, in any order of
    requests.

    Attributes:
        merged: models are merged (`learning.model = "merged"`).

    Raises UnlearningError where a part would remain that affected models inherit (`require_all_parts`).
    """

    merged: bool = False

    name: ClassVar[str] = "subtract"
    paradigms: ClassVar[frozenset[Paradigm]] = frozenset(Paradigm)
    needs: ClassVar[frozenset[Need]] = frozenset({Need.START_DATA})
    levels: ClassVar[frozenset[Level]] = frozenset(LEVELS)
    review: ClassVar[Review] = Review.RECOMPUTED

    def unlearn(self, task: UnlearningTask) -> Outcome:
        require_kind(self, task.architecture.name)
        began, meter = perf_counter(), Meter()
        is_struck = task.forget.level is Level.CLASS and not self.merged
        owners = {} if is_struck else {name: model.user for name, model in task.models.items()}
        taught = _taught(task) if self.merged else frozenset[str]()
        asked = Subtraction(task.forget, task.trained_from(), owners, task.starts, self.merged, taught)
        require_all_parts(asked)
        parts = (_trained_parts if self.merged else _parts)(task, meter)
        weights = subtracted(asked, task.affected(), task.weights(task.models), parts)
        return outcome_of(task, weights, meter.cost(), {"subtract": perf_counter() - began})


@dataclass(frozen=True, slots=True)
class Subtraction:
    """A request to models of sums, with the graph and the owners that it concerns.

    Attributes:
        graph: the references that models are made of.
        owners: users by model, of the affected models and of all known ancestors; not read where a class is
            struck out.
        merged: models are merged.
        taught: models whose merged parts were trained on a class to forget, as far as this is known.
    """

    forget: Forget
    graph: InheritanceGraph
    owners: Mapping[str, int]
    starts: tuple[str, ...]
    merged: bool = False
    taught: frozenset[str] = frozenset()


def require_kind(method: Method, model: str) -> None:
    """Checks that a method fits `learning.model`: sums are only subtracted, which members recompute.

    Raises UnlearningError.
    """
    if not isinstance(method, Subtract):
        if model in SUMS:
            raise UnlearningError(
                f"method {method.name!r} changes the weights of a network; models of {model!r} are sums of "
                f"owners' parts: choose {Subtract.name}."
            )
    elif model not in SUMS:
        raise UnlearningError(
            f"method 'subtract' changes models of sums (learning.model = 'analytic' or 'merged'), not "
            f"{model!r}: choose retrain_ahead or gradient_ascent."
        )
    elif method.merged != (model == MERGED):
        raise UnlearningError(
            f"learning.model is {model!r}, and method 'subtract' has merged = {str(method.merged).lower()}: "
            "a request sets it by itself, so leave it out of unlearning.options."
        )


def require_all_parts(asked: Subtraction) -> None:
    """Checks that the request reaches all parts of the named owners that affected models inherit.

    A client's models must all be affected, and the models of an owner of samples be starts, for it must make
    each of these parts anew; so must merged models whose owners hold a class to forget.

    Raises UnlearningError, naming the models to start at.
    """
    forget, graph, owners = asked.forget, asked.graph, set(asked.forget.owners())
    if not owners and not asked.taught:
        return
    affected = {*asked.starts, *graph.descendants(asked.starts)}
    reached = affected if forget.level is Level.CLIENT else {*asked.starts}
    left = {
        name
        for name in {*affected, *graph.ancestors(affected)} - reached
        if asked.owners.get(name) in owners or name in asked.taught
    }
    if left:
        raise UnlearningError(
            f"{', '.join(sorted(left))} would keep sums of {forget} that affected models inherit: let the "
            "request start there too."
        )


def subtracted(
    asked: Subtraction, names: Sequence[str], old: Mapping[str, Weights], parts: Mapping[str, Tensor]
) -> Mapping[str, Weights]:
    """New state dicts of `names`, which are in topological order.

    Args:
        old: current state dicts, at least of `names` and of their references.
        parts: new own parts, int32 (classes, E), of the starts that lose samples.

    Raises UnlearningError as `require_all_parts`, and for references of another shift than at publication.
    """
    require_all_parts(asked)
    forget = asked.forget
    if forget.level is Level.CLASS and not asked.merged:
        return OnDemand(names, lambda name: without_classes(old[name], forget.classes))
    new: dict[str, Weights] = {}
    for name in names:
        before = old[name]
        references = [new[each] if each in new else old[each] for each in asked.graph.references(name)]
        inherited = aggregate_sums(references) if references else emptied(before)
        if not torch.equal(inherited[SHIFT], before[SHIFT]):
            raise UnlearningError(
                f"the references of {name} are not the ones it was added up from: its shift is "
                f"{int(before[SHIFT])}, theirs give {int(inherited[SHIFT])}."
            )
        part = parts.get(name, before[OWN])
        if asked.owners[name] in forget.clients:
            part = torch.zeros_like(part)
        absent = {*range(len(part))} - {*held(before)}  # also classes that earlier requests struck out
        new[name] = without_classes(with_part(inherited, part.numpy()), absent)
    return new


def recompute_sums(
    asked: Subtraction,
    names: Sequence[str],
    old: Mapping[str, Weights],
    announced: Mapping[str, Weights],
) -> Mapping[str, Weights]:
    """Computes `subtracted` as a committee member does, who takes only parts that lose samples from owners.

    A merged model's part does not show which data it was trained on.

    Args:
        announced: the starts' new state dicts, from their owners.

    Raises:
        UnlearningError: as `subtracted`; or an announced part has numbers that it did not have before, or
            loses no sample, unless requests for classes took them before, or more than the request names.
        LearningError: an announced part is no sum over samples, or no change of weights.
    """
    parts: dict[str, Tensor] = {}
    if asked.merged:
        parts = {name: announced[name][OWN] for name in names if name in announced}
        for part in parts.values():
            require_change(part)
    elif asked.forget.level is Level.SAMPLE:
        rows = Counter(user for user, _ in asked.forget.samples)
        for user, most in rows.items():
            names_of = [name for name in names if asked.owners[name] == user and name in announced]
            own = {name: announced[name][OWN] for name in names_of}
            _require_losses(own, old, most)
            parts |= own
    return subtracted(asked, names, old, parts)


def _require_losses(parts: Mapping[str, Tensor], old: Mapping[str, Weights], most: int) -> None:
    """Checks an owner's new parts: each loses a sample, unless it has lost their classes before."""
    lost = {name: old[name][OWN].long() - part.long() for name, part in parts.items()}
    gone = {label for loss in lost.values() for label in _classes(loss)}
    for name, part in parts.items():
        require_part(part)
        samples = int(lost[name][:, -1].sum()) // CONSTANT**2
        spared = gone and gone.isdisjoint(_classes(old[name][OWN]))
        if not (is_part(lost[name]) and (0 if spared else 1) <= samples <= most):
            raise UnlearningError(
                f"the announced part of {name} does not come from taking 1 to {most} samples out: it must "
                "have the sums of the rows that are kept."
            )


def _classes(part: Tensor) -> tuple[int, ...]:
    """Classes of which a part has samples, or a sum below 0."""
    return tuple(torch.nonzero(part[:, -1]).flatten().tolist())


def _parts(task: UnlearningTask, meter: Meter) -> dict[str, Tensor]:
    """New parts of the starts whose owners have samples to forget, from the rows that they keep."""
    if task.forget.level is not Level.SAMPLE:
        return {}
    parts = {}
    for name in task.starts:
        if not task.holds(name):
            continue
        with meter.job(name) as work:
            work.looked(len(task.retained(name)))
            network = task.architecture.sums(task.initial)
            old = task.models[name].weights[OWN]
            parts[name] = part_without(network, task.owner(name), task.forgets(name), old)
    return parts


def _taught(task: UnlearningTask) -> frozenset[str]:
    """Models whose parts were trained on a class to forget, of the models and owners that are here."""
    if task.forget.level is not Level.CLASS:
        return frozenset()
    users = {name: task.users.get(task.models[name].user) for name in task.models}
    return frozenset(
        name
        for name, user in users.items()
        if user is not None and knows(user, task.forget, task.earlier.get(name, ()))
    )


def _trained_parts(task: UnlearningTask, meter: Meter) -> dict[str, Tensor]:
    """New parts of merged starts whose owners have data to forget."""
    if task.forget.level is Level.CLIENT:
        return {}
    kept = {name: task.retained(name) for name in task.starts if task.holds(name)}
    for name, samples in kept.items():
        with meter.job(name) as work:
            work.trained(epochs_of(task.models[name]) * len(samples))
    models = {name: task.models[name] for name in kept}
    return trained_parts(task.architecture, task.initial, models, kept, task.seed, task.fitter)


def trained_parts(
    architecture: Architecture,
    initial: Weights,
    models: Mapping[str, TrainedModel],
    kept: Mapping[str, Samples],
    seed: int,
    fitter: Fitter = fit_together,
) -> dict[str, Tensor]:
    """Parts of merged models, int32 (1, E), trained on kept samples as when they were published.

    A model whose owner keeps no samples has a part of zeros.

    Args:
        initial: a model without parts.
        kept: samples by model.
        seed: the federation's.
    """
    parts = dict.fromkeys(kept, emptied(initial)[OWN])
    names = [name for name, samples in kept.items() if len(samples)]
    jobs = [job_of(models[name], initial, kept[name], seed, TRAIN) for name in names]
    trained = train_together(architecture, jobs, fitter)
    return {**parts, **{name: each[OWN] for name, each in zip(names, trained, strict=True)}}


def new_parts(
    architecture: Architecture,
    initial: Weights,
    owner: UserData,
    models: Mapping[str, TrainedModel],
    forgets: Mapping[str, Sequence[Forget]],
    seed: int,
    fitter: Fitter = fit_together,
) -> dict[str, Tensor]:
    """New parts, int32 (classes, E), of an owner's models, without the data that requests name by model.

    `initial`, `seed` and `fitter` are as for `trained_parts`.
    """
    if architecture.is_merged:
        kept = {name: retained_after(owner, named) for name, named in forgets.items()}
        return trained_parts(architecture, initial, models, kept, seed, fitter)
    network = architecture.sums(initial)
    return {
        name: part_without(network, owner, named, models[name].weights[OWN])
        for name, named in forgets.items()
    }


def part_without(network: Analytic, owner: UserData, forgets: Sequence[Forget], old: Tensor) -> Tensor:
    """An owner's part, int32 (classes, E), without the samples that requests name.

    Classes are left out as in the `old` part, since requests for them do not reach all models of an owner.

    Args:
        network: without sums.
        forgets: this request's samples, and the data of earlier requests.
    """
    by_owner = [forget for forget in forgets if forget.level is not Level.CLASS]
    part = network.learned(retained_after(owner, by_owner))[OWN]
    part[old[:, -1] == 0] = 0
    return part
