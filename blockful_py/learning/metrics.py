# SPDX-License-Identifier: Apache-2.0
"""Quality of a model on samples: accuracy by class, confusion matrix and calibration."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from blockful_py.errors import LearningError
from blockful_py.learning.data import Samples
from blockful_py.learning.device import network_errors
from blockful_py.learning.evaluation import batched_outputs
from blockful_py.learning.models import Architecture
from blockful_py.learning.weights import Weights

__all__ = ["Quality", "quality"]

BINS = 15
"""Number of intervals of the calibration error (Guo et al. 2017)."""


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """Predictions of a model on n samples, on the CPU.

    Attributes:
        labels: predicted labels, int64 (n,).
        confidence: softmax probability of each predicted label, float32 (n,).
        truth: true labels, int64 (n,).
    """

    labels: Tensor
    confidence: Tensor
    truth: Tensor
    class_count: int


@dataclass(frozen=True, slots=True)
class Bin:
    """Samples whose confidence lies in one interval.

    Attributes:
        samples: number of samples.
        confidence, accuracy: means, from 0 to 1; None without samples.
    """

    samples: int
    confidence: float | None
    accuracy: float | None


@dataclass(frozen=True, slots=True)
class Quality:
    """Figures of one model.

    Attributes:
        accuracy: from 0 to 1.
        per_class: accuracy on the samples of each class, (classes,); None for a class without samples.
        confusion: (true class, predicted class, samples) of each pair that occurs, ascending; at most one
            entry per sample, for any number of classes.
        calibration_error: expected calibration error, from 0 to 1.
        reliability: intervals of the calibration error, by ascending confidence.
    """

    accuracy: float
    per_class: tuple[float | None, ...]
    confusion: tuple[tuple[int, int, int], ...]
    calibration_error: float
    reliability: tuple[Bin, ...]


def predict(architecture: Architecture, weights: Weights, samples: Samples) -> Predictions:
    """Predictions of a model on n samples, in evaluation mode.

    Raises LearningError: no samples, weights of another architecture, or the device is out of memory.
    """
    if not len(samples):
        raise LearningError("metrics need at least one sample; this user or class has none.")
    with network_errors(samples.x.device), torch.inference_mode():
        module = architecture.module(weights, samples.x.device).eval()
        best = [logits.softmax(1).max(1) for logits in batched_outputs(module, samples.x)]
        confidence, labels = (torch.cat(parts).cpu() for parts in zip(*best, strict=True))
    return Predictions(labels, confidence, samples.y.cpu(), architecture.class_count)


def quality(architecture: Architecture, weights: Weights, samples: Samples) -> Quality:
    """All figures of a model on samples.  Raises as `predict`."""
    made = predict(architecture, weights, samples)
    return Quality(
        accuracy=float((made.labels == made.truth).double().mean()),
        per_class=per_class_accuracy(made),
        confusion=confusion(made),
        calibration_error=calibration_error(made),
        reliability=reliability(made),
    )


def qualities(
    architecture: Architecture, models: Mapping[str, Weights], samples: Samples
) -> dict[str, Quality]:
    """All figures of every model.  Raises as `predict`."""
    return {name: quality(architecture, weights, samples) for name, weights in models.items()}


def confusion(made: Predictions) -> tuple[tuple[int, int, int], ...]:
    """Nonzero cells of the confusion matrix: (true class, predicted class, samples), ascending."""
    pairs, counts = torch.unique(torch.stack([made.truth, made.labels], 1), dim=0, return_counts=True)
    return tuple((*pair, count) for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True))


def per_class_accuracy(made: Predictions) -> tuple[float | None, ...]:
    """Share of each class's samples predicted correctly; None for a class without samples."""
    of_right, of_all = made.truth[made.labels == made.truth], made.truth
    right, total = (each.bincount(minlength=made.class_count).tolist() for each in (of_right, of_all))
    return tuple(hit / count if count else None for hit, count in zip(right, total, strict=True))


def calibration_error(made: Predictions, bins: int = BINS) -> float:
    """Expected calibration error, from 0 to 1: `sum_b n_b / n |accuracy_b - confidence_b|`.

    b runs over `bins` intervals of equal width (Guo et al. 2017, eq. 3); 0 means that confidence equals
    accuracy.
    """
    _, confident, right = _binned(made, bins)
    return float((right - confident).abs().sum() / len(made.truth))


def reliability(made: Predictions, bins: int = BINS) -> tuple[Bin, ...]:
    """The intervals of the calibration error, by ascending confidence."""
    return tuple(
        Bin(int(count), confident / count if count else None, right / count if count else None)
        for count, confident, right in zip(*(each.tolist() for each in _binned(made, bins)), strict=True)
    )


def _binned(made: Predictions, bins: int) -> tuple[Tensor, Tensor, Tensor]:
    """Sums per interval, float64 (bins,): samples, confidences, correct labels."""
    confidence = made.confidence.double()
    bin_of = (confidence * bins).ceil().long().clamp(1, bins) - 1
    parts = (torch.ones_like(confidence), confidence, (made.labels == made.truth).double())
    summed = [torch.zeros(bins, dtype=torch.float64).index_add_(0, bin_of, part) for part in parts]
    return summed[0], summed[1], summed[2]


def chance_level(labels: Tensor) -> float | None:
    """Accuracy that guessing the commonest class can reach: `q + 2 sqrt(q (1 - q) / n)`.

    q is the class's share of the n samples; with k equally common classes, q is 1 / k.  Returns None if the
    result reaches 1, as for a single class.

    Args:
        labels: int64 (n,), n at least 1.
    """
    count = len(labels)
    share = int(torch.bincount(labels).max()) / count
    level = share + 2 * math.sqrt(share * (1 - share) / count)
    return level if level < 1 else None
