# SPDX-License-Identifier: Apache-2.0
"""Outputs of a network on samples: log-probabilities and penultimate features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from blockful_py.learning.data import Samples
from blockful_py.learning.evaluation import outputs
from blockful_py.learning.models.analytic import Analytic
from blockful_py.unlearning.head import output_layer

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """Outputs of a network on n samples.

    Attributes:
        log_probs: natural log-probabilities, float64 (n, classes).
        features: inputs of the output layer, float64 (n, d).
        labels: true labels, int64 (n,).
    """

    log_probs: Floats
    features: Floats
    labels: NDArray[np.int64]

    def right(self) -> Floats:
        """Hits, float64 (n,): 1.0 for each correctly classified sample, else 0.0."""
        correct: Floats = (self.log_probs.argmax(1) == self.labels).astype(np.float64)
        return correct

    def accuracy(self) -> float:
        """Share of correctly classified samples, from 0 to 1."""
        return float(self.right().mean())

    def truth(self) -> Floats:
        """Log-probability of the true label: float64 (n,)."""
        likelihoods: Floats = self.log_probs[np.arange(len(self.labels)), self.labels]
        return likelihoods


def observe(module: nn.Module, class_count: int, samples: Samples) -> Observation:
    """Runs a network over samples as `outputs` does, in evaluation mode, without gradients.

    Raises UnlearningError: the network does not end in a linear layer with one output per class.
    """
    if isinstance(module, Analytic):
        features = module.features(samples.x)
        return _observed(torch.from_numpy(module.logits(features)), features, samples)
    seen: list[Tensor] = []

    def keep(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        seen.append(inputs[0].flatten(1))

    hook = output_layer(module, class_count)[1].register_forward_pre_hook(keep)
    try:
        with torch.inference_mode():
            logits = outputs(module.eval(), samples.x)
    finally:
        hook.remove()
    return _observed(logits, torch.cat(seen).double().cpu().numpy(), samples)


def _observed(logits: Tensor, features: Floats, samples: Samples) -> Observation:
    # Softmax in float64 keeps the distance between 1 and probabilities near it.
    log_probs = torch.log_softmax(logits.double(), 1).cpu().numpy()
    return Observation(log_probs, features, samples.y.cpu().numpy())
