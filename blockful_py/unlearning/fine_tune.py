# SPDX-License-Identifier: Apache-2.0
"""Fine-tuning of the last layers on retained data (paper, section Experiments, tables on CIFAR-100)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from blockful_py.errors import SettingsError
from blockful_py.learning.weights import Weights
from blockful_py.unlearning.cost import Work
from blockful_py.unlearning.descent import clipped_descent, cross_entropy, epochs_of, weights_of
from blockful_py.unlearning.independent import Independent
from blockful_py.unlearning.method import Need
from blockful_py.unlearning.model_job import ModelJob


@dataclass(frozen=True, slots=True)
class FineTune(Independent):
    """Trains the last layers of each affected model on its owner's retained data, at a large rate.

    All models change in parallel: `theta_last = argmin L(w_y, D_y without the forgotten)`, with the other
    layers frozen.  The paper calls this ineffective: the features do not change.

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
    needs: ClassVar[frozenset[Need]] = frozenset({Need.START_DATA, Need.DESCENDANT_DATA})

    def __post_init__(self) -> None:
        if min(self.epochs, self.batch, self.layers) < 1:
            raise SettingsError(
                "epochs, batch and layers must be at least 1, "
                f"not {self.epochs}, {self.batch}, {self.layers}."
            )
        clipped_descent(self.rate)

    def changed(self, job: ModelJob, work: Work) -> Weights:
        """Trains one model's last layers."""
        retained = job.retained
        if not len(retained):
            return job.weights
        module, stream = self.in_training(job, work)
        clipped_descent(self.rate).run(
            module,
            cross_entropy,
            epochs_of(retained, self.batch, self.epochs, stream),
            stream,
            layers=last_layers(module, self.layers),
        )
        return weights_of(module, f"the fine-tuned model {job.name!r}")


def last_layers(module: nn.Module, count: int) -> list[str]:
    """Names of the parameters of the last `count` modules that have parameters of their own."""
    owning = [name for name, part in module.named_modules() if list(part.parameters(recurse=False))]
    chosen = owning[-count:]
    return [
        f"{name}.{key}" if name else key
        for name in chosen
        for key, _ in module.get_submodule(name).named_parameters(recurse=False)
    ]
