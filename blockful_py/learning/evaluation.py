# SPDX-License-Identifier: Apache-2.0
"""Accuracy of models on samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor, nn

from blockful_py.errors import LearningError
from blockful_py.learning.data import Samples
from blockful_py.learning.device import network_errors
from blockful_py.learning.models import Architecture
from blockful_py.learning.stacked import FORMS, LARGEST_STACK, stack_weights, stacks_well
from blockful_py.learning.weights import Weights
from blockful_py.on_demand import OnDemand

BATCH = 2048
"""Number of samples per batch on a GPU."""

CPU_BATCH = 128
"""Number of samples per batch on a CPU, whose cache then holds a layer's outputs."""

STACKED_PIXELS = 2**14
"""Number of pixels that a stack of models scores at once."""

Scorer = Callable[[Architecture, Mapping[str, Weights], Samples], dict[str, Tensor]]
"""Interface of `hits`, also for substitutes that give the same bits (`learning.scoring_task`)."""


def accuracies(
    architecture: Architecture, models: Mapping[str, Weights], samples: Samples
) -> dict[str, float]:
    """Share of samples, from 0 to 1, that each model classifies correctly: F(w, D) of the paper's eq. 1.

    Args:
        models: state dicts by name.
        samples: n samples, n at least 1.

    Raises LearningError: no samples, weights of another architecture, or the device is out of memory.
    """
    if not len(samples):
        raise LearningError("accuracy needs at least one sample; this user or class has none.")
    return {name: right.mean().item() for name, right in hits(architecture, models, samples).items()}


def accuracy(architecture: Architecture, weights: Weights, samples: Samples) -> float:
    """Accuracy of one model, from 0 to 1.  Raises as `accuracies`."""
    return accuracies(architecture, {"": weights}, samples)[""]


def hits(architecture: Architecture, models: Mapping[str, Weights], samples: Samples) -> dict[str, Tensor]:
    """Hits by model, float64 (n,): 1.0 for each sample that the model classifies correctly, else 0.0.

    Models are scored in stacks where stacking is faster; the grouping does not change predictions.

    Args:
        models: state dicts by name.
        samples: n samples, n at least 1; the result is on their device.

    Raises LearningError: weights of another architecture, or the device is out of memory.
    """
    if not models:
        return {}
    if architecture.is_merged:
        read = OnDemand(models, lambda name: architecture.merged(models[name]).network_weights())
        return hits(architecture.trained, read, samples)
    with network_errors(samples.x.device), torch.inference_mode():
        if architecture.is_sums:
            labels = _labels_of_sums(architecture, models, samples.x)
        elif stacks_well(architecture, samples.x.device):
            labels = _labels_of_stacks(architecture, models, samples.x)
        else:
            labels = _labels_one_by_one(architecture, models, samples.x)
    return {name: (predicted == samples.y).to(torch.float64) for name, predicted in labels.items()}


def outputs(module: nn.Module, x: Tensor) -> Tensor:
    """Logits (n, classes) of a network on n samples, computed by `batched_outputs`."""
    return torch.cat(list(batched_outputs(module, x)))


def batched_outputs(module: nn.Module, x: Tensor) -> Iterator[Tensor]:
    """Yields the logits (batch, classes) of a network on n samples, batch by batch.

    On a CPU, images and weights take the memory format with the fastest pooling; the module keeps it.
    """
    batch = BATCH
    if x.device.type == "cpu":
        batch = CPU_BATCH
        if x.dim() == 4:
            module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
            x = x.contiguous(memory_format=torch.channels_last)
    return (module(part) for part in torch.split(x, batch))


def _labels_one_by_one(
    architecture: Architecture, models: Mapping[str, Weights], x: Tensor
) -> dict[str, Tensor]:
    module, labels = None, dict[str, Tensor]()
    for name, weights in models.items():
        if module is None:
            module = architecture.module(weights, x.device).eval()
        else:
            architecture.load(module, weights)
        labels[name] = torch.cat([logits.argmax(1) for logits in batched_outputs(module, x)])
    return labels


def _labels_of_sums(
    architecture: Architecture, models: Mapping[str, Weights], x: Tensor
) -> dict[str, Tensor]:
    """All models share the features, which take longer than their heads."""
    features, labels = None, {}
    for name, weights in models.items():
        module = architecture.sums(weights)
        features = module.features(x) if features is None else features
        labels[name] = torch.from_numpy(module.logits(features).argmax(1)).to(x.device)
    return labels


def _labels_of_stacks(
    architecture: Architecture, models: Mapping[str, Weights], x: Tensor
) -> dict[str, Tensor]:
    form = FORMS[architecture.name]
    names = list(models)
    labels: dict[str, list[Tensor]] = {name: [] for name in names}
    for first in range(0, len(names), LARGEST_STACK):
        some = names[first : first + LARGEST_STACK]
        stack = form.packed(stack_weights(architecture, {name: models[name] for name in some}, x.device))
        for part in torch.split(x, max(1, STACKED_PIXELS // x[0, 0].numel())):
            prepared = form.prepared(part)
            logits = form.logits(stack, prepared.expand(len(some), *prepared.shape))
            for name, predicted in zip(some, logits.argmax(2), strict=True):
                labels[name].append(predicted)
    return {name: torch.cat(parts) for name, parts in labels.items()}
