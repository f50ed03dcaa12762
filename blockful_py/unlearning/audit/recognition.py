# SPDX-License-Identifier: Apache-2.0
"""Recognition of forgotten samples and classes, measured without reference models."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import torch
from torch import Tensor

from blockful_py.learning.data import Samples
from blockful_py.learning.device import network_errors
from blockful_py.learning.evaluation import outputs
from blockful_py.learning.models import Architecture
from blockful_py.learning.weights import Weights
from blockful_py.unlearning.audit.accuracy import retained
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


def logit_auc(
    architecture: Architecture,
    weights: Weights,
    samples: Samples,
    classes: Sequence[int],
    left_out: Collection[int] = (),
) -> float | None:
    """AUC of the logit of a forgotten class: its samples against those behind AD_r (`retained`).

    A model that never answers the class may still rank its samples first by the class's logit.  Of several
    classes it is the highest AUC.  0.5 means that the logit tells nothing, as after masking its row of the
    output layer: other weights may then still know the class.  Above 0.5 it need not mean knowledge: models
    that never had the class rank its samples by what these share with others.

    None without samples of the classes, or if logits are not numbers.

    Raises LearningError: weights of another architecture, or the device is out of memory.
    """
    there = [label for label in classes if label in samples.classes()]
    if not there:
        return None
    logits, kept = _logits(architecture, weights, samples), retained(samples.y, classes, left_out)
    found = [
        auc(logits[samples.y == label, label].cpu().numpy(), logits[kept, label].cpu().numpy())
        for label in there
    ]
    return None if any(map(math.isnan, found)) else max(found)


def _log_probs(architecture: Architecture, weights: Weights, samples: Samples) -> Floats:
    """Log-probabilities of the true labels, in evaluation mode: float64 (n,)."""
    logits = _logits(architecture, weights, samples)
    found: Floats = torch.log_softmax(logits, 1).gather(1, samples.y[:, None]).flatten().cpu().numpy()
    return found


def _logits(architecture: Architecture, weights: Weights, samples: Samples) -> Tensor:
    """Logits in evaluation mode: float64 (n, classes)."""
    with network_errors(samples.x.device), torch.inference_mode():
        module = architecture.module(weights, samples.x.device).eval()
        return outputs(module, samples.x).double()
