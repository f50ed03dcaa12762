# SPDX-License-Identifier: Apache-2.0
"""Training of one model on one user's data (paper, eq. 3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from blockful_py.errors import LearningError
from blockful_py.learning.curves import Curve, Tally
from blockful_py.learning.data import Samples
from blockful_py.learning.device import compiled, network_errors
from blockful_py.learning.models import Architecture
from blockful_py.learning.models.architecture import trainable
from blockful_py.learning.privacy import train_privately
from blockful_py.learning.streams import drawing_from
from blockful_py.learning.weights import Weights, detached, require_finite
from blockful_py.settings import TrainingSettings

__all__ = ["Fitted", "train"]


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """Result of a training.

    Attributes:
        weights: state dict, on the CPU.
        curve: None for a differentially private training, because epsilon would not cover the curve, and for
            a model of sums, which has no epochs.
    """

    weights: Weights
    curve: Curve | None


def train(
    architecture: Architecture,
    weights: Weights,
    samples: Samples,
    settings: TrainingSettings,
    stream: torch.Generator,
) -> Weights:
    """Trains as `fit` does; returns the weights alone, a state dict on the CPU.  Raises as `fit`."""
    return fit(architecture, weights, samples, settings, stream).weights


def fit(
    architecture: Architecture,
    weights: Weights,
    samples: Samples,
    settings: TrainingSettings,
    stream: torch.Generator,
) -> Fitted:
    """Trains by SGD on the cross-entropy of shuffled batches: `W = train(W~, phi, D)` (paper, eq. 3).

    A model of sums has the sums over the samples as its own part instead; settings and stream do not matter.

    The batches and the draws of dropout depend only on `stream`, so equal streams give equal bits (on a CPU
    with a fixed number of threads).

    Args:
        weights: W~, the initial state dict.
        samples: D, n samples, n at least 1; training runs on their device.
        settings: phi.
        stream: CPU generator.

    Raises:
        LearningError: no samples, weights of another architecture, a result that is not finite, or the device
            is out of memory.
        SettingsError: a private training without Opacus, or a network that torch.compile rejects.
    """
    if not len(samples):
        raise LearningError("training needs samples; this user has none left: leave its model out.")
    device = samples.x.device
    with network_errors(device), drawing_from(stream, device):
        if settings.privacy is not None:
            private = train_privately(architecture, weights, samples, settings, settings.privacy, stream)
            return Fitted(private, None)
        if architecture.is_sums:
            return Fitted(architecture.sums(weights).learned(samples), None)
        module = architecture.module(weights, device).train()
        optimiser = _Sgd(module, settings)
        network = compiled(module) if settings.compiled else module
        tally = Tally()
        steps = settings.epochs * -(-len(samples) // settings.batch_size)
        for step, rows in enumerate(_batches(len(samples), settings, stream, device)):
            x, y = samples.x[rows], samples.y[rows]
            if settings.channels_last and x.dim() == 4:
                x = x.contiguous(memory_format=torch.channels_last)
            optimiser.zero()
            with torch.autocast(device.type, torch.bfloat16, enabled=settings.precision == "bfloat16"):
                logits = network(x)
                loss = functional.cross_entropy(logits, y)
            loss.backward()  # type: ignore[no-untyped-call]
            tally.step(loss, logits, y)
            optimiser.step(settings.rate_at(step, steps))
        trained = detached({name: tensor.cpu() for name, tensor in module.state_dict().items()})
        (curve,) = tally.curves([len(samples)], settings.epochs)
    require_finite(trained, "a trained model")
    return Fitted(trained, curve)


def _batches(
    size: int, settings: TrainingSettings, stream: torch.Generator, device: torch.device
) -> Iterator[Tensor]:
    for _ in range(settings.epochs):
        yield from torch.split(torch.randperm(size, generator=stream).to(device), settings.batch_size)


class _Sgd:
    """torch.optim.SGD's update, on one flat vector instead of one tensor per layer.

    `g = grad + decay w;  v = momentum v + g;  w = w - rate v`
    """

    def __init__(self, module: nn.Module, settings: TrainingSettings) -> None:
        parameters = list(trainable(module).values())
        self._settings = settings
        self._weights = torch.cat([parameter.detach().reshape(-1) for parameter in parameters])
        self._gradient = torch.zeros_like(self._weights)
        self._velocity = torch.zeros_like(self._weights)
        sizes = [parameter.numel() for parameter in parameters]
        flat = (torch.split(vector, sizes) for vector in (self._weights, self._gradient))
        views = zip(parameters, *flat, strict=True)
        for parameter, weight, gradient in views:
            parameter.data = weight.view(parameter.shape)
            parameter.grad = gradient.view(parameter.shape)

    def zero(self) -> None:
        self._gradient.zero_()

    def step(self, rate: float) -> None:
        self._gradient.add_(self._weights, alpha=self._settings.weight_decay)
        self._velocity.mul_(self._settings.momentum).add_(self._gradient)
        self._weights.add_(self._velocity, alpha=-rate)
