# SPDX-License-Identifier: Apache-2.0
"""Recognition of forgotten training samples, measured without reference models."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch

from blockful_py.learning.data import Samples
from blockful_py.learning.device import network_errors
from blockful_py.learning.evaluation import outputs
from blockful_py.learning.models import Architecture
from blockful_py.learning.weights import Weights
from blockful_py.unlearning.audit.exposure import auc
from blockful_py.unlearning.audit.network import Floats


def recognition(
    architecture: Architecture, models: Mapping[str, Weights], trained: Samples, unseen: Samples
) -> dict[str, float | None]:
    """AUC, by model, of the log-probability of the true label: trained against unseen samples.

    None without samples on one side, or if a model's outputs are not finite.

    Raises LearningError: weights of another architecture, or the device is out of memory.
    """
    if not (len(trained) and len(unseen)):
        return dict.fromkeys(models)
    found = {
        name: auc(*(_log_probs(architecture, weights, samples) for samples in (trained, unseen)))
        for name, weights in models.items()
    }
    return {name: None if math.isnan(value) else value for name, value in found.items()}


def _log_probs(architecture: Architecture, weights: Weights, samples: Samples) -> Floats:
    """Log-probabilities of the true labels, in evaluation mode: float64 (n,)."""
    with network_errors(samples.x.device), torch.inference_mode():
        module = architecture.module(weights, samples.x.device).eval()
        logits = outputs(module, samples.x)
        chosen = torch.log_softmax(logits.double(), 1).gather(1, samples.y[:, None]).flatten()
    found: Floats = chosen.cpu().numpy()
    return found
