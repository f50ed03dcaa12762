# SPDX-License-Identifier: Apache-2.0
"""SalUn, saliency unlearning with random labels (Fan et al., ICLR 2024, arXiv 2310.12508)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from blockful_py.errors import SettingsError
from blockful_py.forget import Level
from blockful_py.learning.data import Samples, pooled
from blockful_py.learning.models.architecture import trainable
from blockful_py.learning.streams import drawing_from, generator
from blockful_py.learning.weights import Weights
from blockful_py.types import Paradigm
from blockful_py.unlearning.cost import Work
from blockful_py.unlearning.descent import Descent, epochs_of, weights_of
from blockful_py.unlearning.method import ModelUpdate, Need, Outcome, Review, steps_of, unlearn_apart
from blockful_py.unlearning.model_job import ModelJob
from blockful_py.unlearning.task import UnlearningTask


@dataclass(frozen=True, slots=True)
class SalUn:
    """Teaches each affected model wrong labels for the forgotten samples, through salient weights only.

    All models change in parallel:

    `m_i = 1 where |grad_i L(w_y, D_f)| is among the largest`,  `w'_y = w_y + m * dw`, `dw = argmin L(D_f with
    labels drawn from the others) + L(D_y without the forgotten)`.

    Attributes:
        share: share of the weights that may change (the authors' threshold is the median: 0.5).
        epochs, rate, batch: settings of the training; momentum 0.9, gradients clipped at an L2 norm of 5.

    The constructor raises SettingsError for a setting out of range.
    """

    share: float = 0.5
    epochs: int = 5
    rate: float = 0.02
    batch: int = 32
    name: ClassVar[str] = "salun"
    paradigms: ClassVar[frozenset[Paradigm]] = frozenset({Paradigm.PARALLEL, Paradigm.SEQUENTIAL})
    needs: ClassVar[frozenset[Need]] = frozenset({Need.START_DATA, Need.DESCENDANT_DATA, Need.FORGOTTEN_DATA})
    levels: ClassVar[frozenset[Level]] = frozenset(Level)
    review: ClassVar[Review] = Review.REMEASURED

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1 or min(self.epochs, self.batch) < 1:
            raise SettingsError(
                "share must be in (0, 1], epochs and batch at least 1, "
                f"not {self.share}, {self.epochs}, {self.batch}."
            )
        self._descent()

    def unlearn(self, task: UnlearningTask) -> Outcome:
        return unlearn_apart(self, task)

    def steps(self, task: UnlearningTask) -> Iterator[ModelUpdate]:
        return steps_of(self.unlearn(task))

    def changed(self, job: ModelJob, work: Work) -> Weights:
        """Trains one model on wrong labels of its forgotten samples."""
        forgotten = job.given()
        stream = generator(job.seed, self.name, job.user, job.round)
        module = work.watch(job.architecture.module(job.weights, forgotten.x.device).train())
        with drawing_from(stream, forgotten.x.device):
            masks = self._salient(module, forgotten)
        wrong = Samples(forgotten.x, other_labels(forgotten.y, job, stream))
        self._descent().run(
            module,
            lambda network, batch: functional.cross_entropy(network(batch.x), batch.y),
            epochs_of(pooled([wrong, job.retained]), self.batch, self.epochs, stream),
            stream,
            masks=masks,
        )
        return weights_of(module, f"the model {job.name!r} after SalUn")

    def _salient(self, module: nn.Module, forgotten: Samples) -> Mapping[str, Tensor]:
        parameters = trainable(module)
        loss = functional.cross_entropy(module(forgotten.x), forgotten.y)
        gradients = torch.autograd.grad(loss, [*parameters.values()], materialize_grads=True)
        sizes = [gradient.abs() for gradient in gradients]
        everything = torch.cat([size.flatten() for size in sizes])
        kept = max(1, round(self.share * len(everything)))
        least = torch.sort(everything, descending=True).values[kept - 1]
        return {name: (size >= least).to(size.dtype) for name, size in zip(parameters, sizes, strict=True)}

    def _descent(self) -> Descent:
        return Descent(self.rate, momentum=0.9, clip=5.0)


def other_labels(labels: Tensor, job: ModelJob, stream: torch.Generator) -> Tensor:
    """Draws a label for each sample, uniformly from the classes that are neither its own nor forgotten.

    Takes and returns int64 (n,), on one device.
    """
    drawn = []
    for label in labels.tolist():
        free = [k for k in range(job.architecture.class_count) if k != label and k not in job.classes]
        drawn.append(free[int(torch.randint(len(free), (1,), generator=stream))])
    return torch.tensor(drawn, dtype=labels.dtype, device=labels.device)
