# SPDX-License-Identifier: Apache-2.0
"""Fine-tuning of the last layers on retained data (paper, section Experiments, tables on CIFAR-100)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from torch import nn
from torch.nn import functional

from blockful_py.errors import SettingsError
from blockful_py.forget import Level
from blockful_py.learning.streams import generator
from blockful_py.learning.weights import Weights
from blockful_py.types import Paradigm
from blockful_py.unlearning.cost import Work
from blockful_py.unlearning.descent import Descent, epochs_of, weights_of
from blockful_py.unlearning.method import ModelUpdate, Need, Outcome, Review, steps_of, unlearn_apart
from blockful_py.unlearning.model_job import ModelJob
from blockful_py.unlearning.task import UnlearningTask


@dataclass(frozen=True, slots=True)
class FineTune:
    """Trains the last layers of each affected model on its owner's retained data, at a large rate.

    All models change in parallel: `theta_last = argmin L(w_y, D_y without the forgotten)`, with the other
    layers frozen. The paper calls this ineffective: the features do not change.

    Attributes:
        epochs, rate, batch: settings of the training; momentum 0.9, gradients clipped at an L2 norm of 5.
        layers: number of trained modules with parameters of their own, counted from the end.

    The constructor raises SettingsError for a setting out of range.
    """

    epochs: int = 5
    rate: float = 0.2
    batch: int = 32
    layers: int = 1
    name: ClassVar[str] = "fine_tune"
    paradigms: ClassVar[frozenset[Paradigm]] = frozenset({Paradigm.PARALLEL, Paradigm.SEQUENTIAL})
    needs: ClassVar[frozenset[Need]] = frozenset({Need.START_DATA, Need.DESCENDANT_DATA})
    levels: ClassVar[frozenset[Level]] = frozenset(Level)
    review: ClassVar[Review] = Review.REMEASURED

    def __post_init__(self) -> None:
        if min(self.epochs, self.batch, self.layers) < 1:
            raise SettingsError(
                "epochs, batch and layers must be at least 1, "
                f"not {self.epochs}, {self.batch}, {self.layers}."
            )
        self._descent()

    def unlearn(self, task: UnlearningTask) -> Outcome:
        return unlearn_apart(self, task)

    def steps(self, task: UnlearningTask) -> Iterator[ModelUpdate]:
        return steps_of(self.unlearn(task))

    def changed(self, job: ModelJob, work: Work) -> Weights:
        """Trains one model's last layers."""
        retained = job.retained
        if not len(retained):
            return job.weights
        module = work.watch(job.architecture.module(job.weights, retained.x.device).train())
        stream = generator(job.seed, self.name, job.user, job.round)
        self._descent().run(
            module,
            lambda network, batch: functional.cross_entropy(network(batch.x), batch.y),
            epochs_of(retained, self.batch, self.epochs, stream),
            stream,
            layers=last_layers(module, self.layers),
        )
        return weights_of(module, f"the fine-tuned model {job.name!r}")

    def _descent(self) -> Descent:
        return Descent(self.rate, momentum=0.9, clip=5.0)


def last_layers(module: nn.Module, count: int) -> list[str]:
    """Names of the parameters of the last `count` modules that have parameters of their own."""
    owning = [name for name, part in module.named_modules() if list(part.parameters(recurse=False))]
    chosen = owning[-count:]
    return [
        f"{name}.{key}" if name else key
        for name in chosen
        for key, _ in module.get_submodule(name).named_parameters(recurse=False)
    ]
