# SPDX-License-Identifier: Apache-2.0
"""SalUn, saliency unlearning with random labels (Fan et al., ICLR 2024, arXiv 2310.12508)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from blockful_py.errors import SettingsError
from blockful_py.learning.data import Samples, pooled
from blockful_py.learning.models.architecture import trainable
from blockful_py.learning.streams import drawing_from
from blockful_py.learning.weights import Weights
from blockful_py.unlearning.cost import Work
from blockful_py.unlearning.descent import clipped_descent, cross_entropy, epochs_of, weights_of
from blockful_py.unlearning.independent import Independent
from blockful_py.unlearning.method import Need
from blockful_py.unlearning.model_job import ModelJob


@dataclass(frozen=True, slots=True)
class SalUn(Independent):
    """Teaches each affected model wrong labels for the forgotten samples, through salient weights only.

    All models change in parallel:

    `m_i = 1 where |grad_i L(w_y, D_f)| is among the largest`,  `w'_y = w_y + m * dw`,
    `dw = argmin L(D_f with labels drawn from the others) + L(D_y without the forgotten)`.

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
    needs: ClassVar[frozenset[Need]] = frozenset({Need.START_DATA, Need.DESCENDANT_DATA, Need.FORGOTTEN_DATA})

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1 or min(self.epochs, self.batch) < 1:
            raise SettingsError(
                "share must be in (0, 1], epochs and batch at least 1, "
                f"not {self.share}, {self.epochs}, {self.batch}."
            )
        clipped_descent(self.rate)

    def changed(self, job: ModelJob, work: Work) -> Weights:
        """Trains one model on wrong labels of its forgotten samples."""
        forgotten = job.given()
        module, stream = self.in_training(job, work)
        with drawing_from(stream, forgotten.x.device):
            masks = self._salient(module, forgotten)
        wrong = Samples(forgotten.x, other_labels(forgotten.y, job, stream))
        clipped_descent(self.rate).run(
            module,
            cross_entropy,
            epochs_of(pooled([wrong, job.retained]), self.batch, self.epochs, stream),
            stream,
            masks=masks,
        )
        return weights_of(module, f"the model {job.name!r} after SalUn")

    def _salient(self, module: nn.Module, forgotten: Samples) -> Mapping[str, Tensor]:
        parameters = trainable(module)
        loss = cross_entropy(module, forgotten)
        gradients = torch.autograd.grad(loss, [*parameters.values()], materialize_grads=True)
        sizes = [gradient.abs() for gradient in gradients]
        everything = torch.cat([size.flatten() for size in sizes])
        kept = max(1, round(self.share * len(everything)))
        least = torch.sort(everything, descending=True).values[kept - 1]
        return {name: (size >= least).to(size.dtype) for name, size in zip(parameters, sizes, strict=True)}


def other_labels(labels: Tensor, job: ModelJob, stream: torch.Generator) -> Tensor:
    """Draws a label for each sample, uniformly from the classes that are neither its own nor forgotten.

    Takes and returns int64 (n,), on one device.
    """
    drawn = []
    for label in labels.tolist():
        free = [k for k in range(job.architecture.class_count) if k != label and k not in job.classes]
        drawn.append(free[int(torch.randint(len(free), (1,), generator=stream))])
    return torch.tensor(drawn, dtype=labels.dtype, device=labels.device)
