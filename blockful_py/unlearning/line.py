# SPDX-License-Identifier: Apache-2.0
"""A training line that leaves data out: its phases, and the phase stored at publication."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import torch
from torch import Tensor, nn
from torch.nn import functional

from blockful_py.forget import Forget, Level
from blockful_py.learning.data import Samples, UserData
from blockful_py.learning.device import network_errors
from blockful_py.learning.federation import FederationSpec, TrainedModel
from blockful_py.learning.forget_sets import forget_set, retained_after
from blockful_py.learning.models.architecture import trainable
from blockful_py.learning.streams import drawing_from, generator
from blockful_py.learning.weights import Weights, aggregate
from blockful_py.settings import TrainingSettings
from blockful_py.unlearning.descent import batches_of, weights_of
from blockful_py.unlearning.recipe import epochs_of
from blockful_py.unlearning.retraining import passes_of
from blockful_py.unlearning.stored_increments import StoredIncrement, base_of
from blockful_py.unlearning.task import UnlearningTask

TENTH = 0.1
"""Share of retraining's passes at request time, and maximum share prepared for one class or client."""

HALF = TENTH / 2
"""Share of passes of a line's second phase, and of the models' own trainings."""


@dataclass(frozen=True, slots=True)
class TrainingPhase:
    """A phase of short trainings on the samples that owners keep.

    Passes count samples, so smaller batches give more steps.

    Attributes:
        purpose: name of the streams that shuffle the samples.
        share: share of the sample passes of each model's own training.
        smaller: factor by which batches are smaller than in the model's own training.
        slower: factor by which the initial rate is lower.
        without: data left out in addition to each model's excluded data.
    """

    purpose: str
    share: float
    smaller: int
    slower: int
    without: tuple[Forget, ...] = ()

    def samples(self, task: UnlearningTask, name: str) -> int:
        """Sample passes of a model."""
        return self._steps(task, name) * self._batch(task, name)

    def train(self, task: UnlearningTask, names: Sequence[str], start: Weights, final: float) -> Weights:
        """Trains `start` by SGD on the samples that the owners of `names` keep, one owner after the other.

        The loss is the cross-entropy; the rate falls to `final` times its first value.
        Returns a state dict on the CPU.  Raises LearningError for a result that is not finite.
        """
        batches = [batch for name in names for batch in self._batches(task, name)]
        if not batches:
            return start
        first, device = task.models[names[0]], batches[0].x.device
        phi = replace(first.training, learning_rate=first.training.learning_rate / self.slower)
        module = task.architecture.module(start, device).train()
        stream = generator(task.seed, self.purpose, first.user, first.round)
        with network_errors(device), drawing_from(stream, device):
            _descend(module, batches, phi, final)
        return weights_of(module, f"the {self.purpose} at {names[-1]!r}")

    def _batches(self, task: UnlearningTask, name: str) -> list[Samples]:
        model, steps = task.models[name], self._steps(task, name)
        stream = generator(task.seed, self.purpose, model.user, model.round)
        return batches_of(self._kept(task, name), self._batch(task, name), steps, stream) if steps else []

    def _steps(self, task: UnlearningTask, name: str) -> int:
        """Number of steps, at least two if the owner keeps samples.

        The rate of the last step may be 0, and models without a step of their own would be equal.
        """
        passes = epochs_of(task.models[name]) * len(self._kept(task, name))
        return max(2, int(self.share * passes / self._batch(task, name))) if passes else 0

    def _batch(self, task: UnlearningTask, name: str) -> int:
        kept = max(1, len(self._kept(task, name)))
        return max(1, min(task.models[name].training.batch_size // self.smaller, kept))

    def _kept(self, task: UnlearningTask, name: str) -> Samples:
        return retained_after(task.owner(name), (*task.forgets(name), *self.without))


WARM = 0.1
"""Share of the steps in which the rate rises to its maximum."""


def training_phases(
    task: UnlearningTask, names: Sequence[str]
) -> tuple[TrainingPhase, TrainingPhase, TrainingPhase]:
    """The line's phases at publication and at request time, and the affected models' own trainings.

    The first phase leaves out `excluded_set`.  It takes 1/K of the passes of retraining `names`, with K
    classes, or K clients that may be left out, and at most a tenth: all classes, or all clients, together
    take as much as retraining once.  The second and third take a twentieth each.
    """
    of_class = task.forget.level is Level.CLASS
    prepared = min(TENTH, 1 / (task.architecture.class_count if of_class else len(task.users)))
    every = sum(passes_of(task, name) for name in names)
    affected = sum(passes_of(task, name) for name in task.affected())
    return (
        TrainingPhase(
            "line", prepared, smaller=4, slower=2, without=(excluded_set(task.forget), *task.all_forgets)
        ),
        TrainingPhase("line on", HALF, smaller=4, slower=2, without=task.all_forgets),
        TrainingPhase("from the line", HALF * every / max(1, affected), smaller=4, slower=8),
    )


def excluded_set(forget: Forget) -> Forget:
    """The data that the first phase of a request's line leaves out.

    For samples it is all data of their owners, so that one line per client serves any of its requests.
    """
    return Forget.of_clients(forget.owners()) if forget.level is Level.SAMPLE else forget


def models_on_line(task: UnlearningTask) -> tuple[str, ...]:
    """The models on a line: available models that forgotten samples have reached, in topological order.

    A model is available if it and its owner's data are here.
    """
    here = {name for name in task.models if task.models[name].user in task.users}
    return tuple(name for name in task.reached() if name in here)


def line_start(
    task: UnlearningTask, names: Sequence[str], above: Callable[[str], Iterable[str]] | None = None
) -> Weights:
    """Mean of the references outside `names`; the shared initialisation without such references.

    `above`: models that count as references of a model, by default the ones that it was trained from.
    """
    clean = sorted(set(chain(*map(above or task.references, names))) - set(names))
    return aggregate([task.models[name].weights for name in clean]) if clean else task.initial


def first_phase(task: UnlearningTask, names: Sequence[str], start: Weights, phase: TrainingPhase) -> Weights:
    """Trains the first phase: `l_k = train(l_(k-1), D_k without f)`, k along `names`, `l_0 = start`.

    Each training has a schedule of its own, because it runs when its model is published.
    """
    for name in names:
        start = phase.train(task, [name], start, task.models[name].training.final_rate_share)
    return start


def store_line(
    settings: FederationSpec, models: Iterable[TrainedModel], users: Iterable[UserData], forget: Forget
) -> dict[str, StoredIncrement]:
    """First phase of the line for requests to forget a class everywhere, a client, or samples of a client.

    The result is stored under the name of the last model on the line.

    Args:
        users: owners of the models; a missing owner counts as holding no forgotten data.

    Raises UnlearningError as `UnlearningTask`, also if no owner holds the data to forget.
    """
    listed, owners = tuple(models), {user.index: user for user in users}
    here = [model for model in listed if model.user in owners]
    holders = [model.name for model in here if len(forget_set(forget, owners[model.user]))]
    task = UnlearningTask.of(settings, listed, owners.values(), holders, forget)
    names = models_on_line(task)
    start = line_start(task, names)
    first, _, _ = training_phases(task, names)
    line = first_phase(task, names, start, first)
    base = base_of(start, task.models[names[-1]].weights)
    return {names[-1]: StoredIncrement(excluded_set(forget), line, base)}


def stored_line(task: UnlearningTask, names: Sequence[str], start: Weights) -> Weights | None:
    """The stored first phase, if it fits the task.

    None if it is missing, belongs to other models or left out other data, or if an earlier request made
    models forget.
    """
    kept = task.stored.get(names[-1])
    if kept is None or any(task.earlier.values()) or kept.left_out != excluded_set(task.forget):
        return None
    return kept.weights if kept.base == base_of(start, task.models[names[-1]].weights) else None


def _descend(module: nn.Module, batches: Sequence[Samples], phi: TrainingSettings, final: float) -> None:
    """Runs SGD with Nesterov's momentum, one step per batch.

    The rate rises linearly in a tenth of the steps, then falls linearly to `final` times its maximum.
    """
    optimiser = torch.optim.SGD(
        trainable(module).values(),
        phi.learning_rate,
        phi.momentum,
        nesterov=True,
        weight_decay=phi.weight_decay,
    )
    for step, batch in enumerate(batches, start=1):
        progress = step / len(batches)
        fall = final + (1 - final) * (1 - progress) / (1 - WARM)
        for group in optimiser.param_groups:
            group["lr"] = phi.learning_rate * min(progress / WARM, fall)
        optimiser.zero_grad()
        loss: Tensor = functional.cross_entropy(module(batch.x), batch.y)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
