# SPDX-License-Identifier: Apache-2.0
"""Training of one model on one user's data (paper, eq. 3)."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from blockful_py.errors import LearningError
from blockful_py.learning.curves import Curve, Tally
from blockful_py.learning.data import Samples
from blockful_py.learning.device import network_errors, own_stream, products
from blockful_py.learning.gradient_steps import GradientSteps
from blockful_py.learning.models import Architecture
from blockful_py.learning.privacy import train_privately
from blockful_py.learning.streams import drawing_from
from blockful_py.learning.weights import Weights, require_finite
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

    A model of sums over samples has these as its own part instead; settings and stream do not matter.  The
    parts of merged models are trained by `together.fit_by`.

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
        if architecture.is_sums and not architecture.is_merged:
            return Fitted(architecture.sums(weights).learned(samples), None)
        with torch.cuda.stream(own_stream(device)), products(settings.precision):
            steps = step_by_step(architecture, weights, samples, settings, stream)
            while True:
                try:
                    next(steps)
                except StopIteration as end:
                    fitted: Fitted = end.value
                    return fitted


def step_by_step(
    architecture: Architecture,
    weights: Weights,
    samples: Samples,
    settings: TrainingSettings,
    stream: torch.Generator,
) -> Generator[None, None, Fitted]:
    """Trains a network as `fit` does, and yields after each step, so that a caller can run others beside it.

    A caller that runs others sees to the draws of dropout, to the stream of the device, and to errors.
    """
    taking = GradientSteps.of(architecture, weights, samples, settings)
    tally = Tally()
    steps = settings.epochs * -(-len(samples) // settings.batch_size)
    for step, rows in enumerate(_batches(len(samples), settings, stream, samples.x.device)):
        tally.step(*taking.step(rows, settings.rate_at(step, steps)))
        yield
    trained = taking.weights()
    (curve,) = tally.curves([len(samples)], settings.epochs)
    require_finite(trained, "a trained model")
    return Fitted(trained, curve)


def _batches(
    size: int, settings: TrainingSettings, stream: torch.Generator, device: torch.device
) -> Iterator[Tensor]:
    for _ in range(settings.epochs):
        order = torch.randperm(size, generator=stream)
        if device.type == "cuda":
            order = order.pin_memory()  # else each epoch waits for the steps before it
        yield from torch.split(order.to(device, non_blocking=True), settings.batch_size)
