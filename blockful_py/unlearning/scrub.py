# SPDX-License-Identifier: Apache-2.0
"""SCRUB: a student departs from its teacher on the forgotten samples.

Source: Kurmanji et al., NeurIPS 2023, arXiv 2302.10320.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from blockful_py.errors import SettingsError
from blockful_py.forget import Level
from blockful_py.learning.data import Samples
from blockful_py.learning.weights import Weights
from blockful_py.unlearning.cost import Work
from blockful_py.unlearning.descent import clipped_descent, epochs_of, weights_of
from blockful_py.unlearning.independent import Independent
from blockful_py.unlearning.method import Need
from blockful_py.unlearning.model_job import ModelJob


@dataclass(frozen=True, slots=True)
class Scrub(Independent):
    """Trains a student of each affected model, in parallel, to disagree with it on the forgotten samples.

    p is the output of the published model (the teacher), q the student's, which starts as a copy.  Each epoch
    has:

    - max-step: `max KL(p || q)` on the forgotten samples (the first `max_epochs` epochs);
    - min-step: `min KL(p || q) + gamma L(q)` on the owner's retained data.

    Level client is not supported: a client that keeps no samples has none for the min-steps.

    Attributes:
        epochs, max_epochs: numbers of epochs with min-steps, and with max-steps before them.
        gamma: weight of the cross-entropy with the true labels.
        rate: rate of both steps; momentum 0.9, gradients clipped at an L2 norm of 5.
        batch, forget_batch: samples of a min-step and of a max-step.

    The constructor raises SettingsError for a setting out of range.
    """

    epochs: int = 4
    max_epochs: int = 3
    gamma: float = 1.0
    rate: float = 0.05
    batch: int = 32
    forget_batch: int = 8
    name: ClassVar[str] = "scrub"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.START_DATA, Need.DESCENDANT_DATA, Need.FORGOTTEN_DATA})
    levels: ClassVar[frozenset[Level]] = frozenset({Level.CLASS, Level.SAMPLE})

    def __post_init__(self) -> None:
        if not 0 <= self.max_epochs <= self.epochs or self.gamma < 0:
            raise SettingsError(
                "max_epochs must be from 0 to epochs and gamma at least 0, "
                f"not {self.max_epochs} of {self.epochs} and {self.gamma}."
            )
        if min(self.epochs, self.batch, self.forget_batch) < 1:
            raise SettingsError(
                "epochs, batch and forget_batch must be at least 1, "
                f"not {self.epochs}, {self.batch}, {self.forget_batch}."
            )
        clipped_descent(self.rate)

    def changed(self, job: ModelJob, work: Work) -> Weights:
        """Trains one model's student."""
        forgotten, retained = job.given(), job.retained
        teacher = work.watch(job.architecture.module(job.weights, forgotten.x.device).eval())
        student, stream = self.in_training(job, work)

        def divergence(network: nn.Module, batch: Samples) -> tuple[Tensor, Tensor]:
            with torch.no_grad():
                told = functional.log_softmax(teacher(batch.x), 1)
            logits = network(batch.x)
            said = functional.log_softmax(logits, 1)
            return functional.kl_div(said, told, reduction="batchmean", log_target=True), logits

        def disobey(network: nn.Module, batch: Samples) -> Tensor:
            return -divergence(network, batch)[0]

        def obey(network: nn.Module, batch: Samples) -> Tensor:
            distance, logits = divergence(network, batch)
            return distance + self.gamma * functional.cross_entropy(logits, batch.y)

        descent = clipped_descent(self.rate)
        for epoch in range(self.epochs):
            if epoch < self.max_epochs:
                descent.run(student, disobey, epochs_of(forgotten, self.forget_batch, 1, stream), stream)
            if len(retained):
                descent.run(student, obey, epochs_of(retained, self.batch, 1, stream), stream)
        return weights_of(student, f"the scrubbed model {job.name!r}")
