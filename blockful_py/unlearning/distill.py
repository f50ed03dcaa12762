# SPDX-License-Identifier: Apache-2.0
"""Distillation of the published model into one that never saw the forgotten samples.

Source: the paper, section Experiments; after Wu, Zhu and Mitra, arXiv 2201.09441.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from blockful_py.errors import SettingsError
from blockful_py.forget import LEVELS, Level
from blockful_py.learning.data import Samples
from blockful_py.learning.streams import generator
from blockful_py.learning.weights import Weights
from blockful_py.types import Paradigm
from blockful_py.unlearning.cost import Meter, Work
from blockful_py.unlearning.descent import Descent, Loss, epochs_of, weights_of
from blockful_py.unlearning.method import ModelUpdate, Need, Outcome, Review, outcome_of, require_level
from blockful_py.unlearning.retraining import aggregate_of
from blockful_py.unlearning.task import UnlearningTask


@dataclass(frozen=True, slots=True)
class Distill:
    """Distils each affected model into a student that learns on its owner's retained data.

    Models follow in topological order.  A student starts from the mean of its updated references (a root from
    the shared initialisation) and learns the outputs of the published model, the teacher:

    `L = T^2 KL(softmax(z_teacher / T) || softmax(z_student / T))`,

    where the teacher's logits of forgotten classes are minus infinity.

    Attributes:
        temperature: T.
        share: weight of L, in (0, 1]; the cross-entropy with the true labels has 1 - share.

    The constructor raises SettingsError for a setting out of range.
    """

    temperature: float = 2.0
    share: float = 0.9
    name: ClassVar[str] = "distill"
    paradigms: ClassVar[frozenset[Paradigm]] = frozenset({Paradigm.SEQUENTIAL})
    needs: ClassVar[frozenset[Need]] = frozenset({Need.START_DATA, Need.DESCENDANT_DATA})
    levels: ClassVar[frozenset[Level]] = frozenset(LEVELS)
    review: ClassVar[Review] = Review.REMEASURED

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature > 0 and 0 < self.share <= 1):
            raise SettingsError(
                f"temperature must be positive, share in (0, 1], not {self.temperature}, {self.share}."
            )

    def unlearn(self, task: UnlearningTask) -> Outcome:
        meter = Meter()
        done = list(self._steps(task, meter))
        weights = {step.name: step.weights for step in done}
        return outcome_of(task, weights, meter.cost(), {"distill": sum(step.seconds for step in done)})

    def steps(self, task: UnlearningTask) -> Iterator[ModelUpdate]:
        return self._steps(task, Meter())

    def _steps(self, task: UnlearningTask, meter: Meter) -> Iterator[ModelUpdate]:
        require_level(self, task)
        updated: dict[str, Weights] = {}
        for name in task.affected():
            began = perf_counter()
            with meter.job(name, after=task.references(name)) as work:
                updated[name] = self._student(task, name, updated, work)
            yield ModelUpdate(name, updated[name], perf_counter() - began, meter.cost())

    def _student(
        self, task: UnlearningTask, name: str, updated: Mapping[str, Weights], work: Work
    ) -> Weights:
        model, retained = task.models[name], task.retained(name)
        start = aggregate_of(task, name, updated)
        if not len(retained):
            return start
        phi, device = model.training, retained.x.device
        teacher = work.watch(task.architecture.module(model.weights, device).eval())
        student = work.watch(task.architecture.module(start, device).train())
        stream = generator(task.seed, self.name, model.user, model.round)
        Descent(phi.learning_rate, phi.momentum, phi.final_rate_share).run(
            student,
            self._loss(teacher, task.classes),
            epochs_of(retained, phi.batch_size, phi.epochs, stream),
            stream,
        )
        return weights_of(student, f"the distilled model {name!r}")

    def _loss(self, teacher: nn.Module, classes: tuple[int, ...]) -> Loss:
        def loss(student: nn.Module, batch: Samples) -> Tensor:
            with torch.no_grad():
                told = softened(teacher(batch.x), classes, self.temperature)
            said = student(batch.x)
            soft = functional.kl_div(
                functional.log_softmax(said / self.temperature, 1), told, reduction="batchmean"
            )
            hard = functional.cross_entropy(said, batch.y)
            return self.share * self.temperature**2 * soft + (1 - self.share) * hard

        return loss


def softened(logits: Tensor, classes: tuple[int, ...], temperature: float) -> Tensor:
    """Probabilities `softmax(z / T)` with the logits of the given classes at minus infinity.

    Args:
        logits: z, float32 (n, classes).
        temperature: T, above 0.

    Returns probabilities, float32 (n, classes).
    """
    masked = logits.clone()
    masked[:, list(classes)] = -math.inf
    return functional.softmax(masked / temperature, 1)
