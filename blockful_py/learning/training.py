# SPDX-License-Identifier: Apache-2.0
"""Training of one model on one user's data (paper, eq. 3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from blockful_py.errors import LearningError, SettingsError
from blockful_py.learning.curves import Curve, Tally
from blockful_py.learning.data import Samples
from blockful_py.learning.device import compiled, memory_errors
from blockful_py.learning.models import Architecture
from blockful_py.learning.privacy import PrivacySettings, train_privately
from blockful_py.learning.weights import Weights, detached, require_finite

MODES = ("auto", "stacked", "loop")
PRECISIONS = ("float32", "bfloat16")


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """phi of eq. 3: SGD with momentum; the rate falls linearly to `final_rate_share` of itself.

    Attributes:
        batch: samples of a step.
        privacy: noise that makes the training differentially private.
        together: "stacked" (see `together`), "loop", or "auto", which takes the faster for the network, the
            size of its inputs and the kind of device.
        precision: "float32", or "bfloat16" for the layers that torch.autocast runs in it.
        channels_last, compiled: batches in that memory format; the network through torch.compile, which
            needs a C++ compiler on a CPU.  Both may be faster, and both change bits.

    Raises SettingsError for a value that is out of range.
    """

    epochs: int = 20
    rate: float = 0.1
    final_rate_share: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 1e-4
    batch: int = 32
    privacy: PrivacySettings | None = None
    together: str = "auto"
    precision: str = "float32"
    channels_last: bool = False
    compiled: bool = False

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch < 1:
            raise SettingsError(f"epochs and batch must be at least 1, not {self.epochs} and {self.batch}.")
        if not (self.rate > 0 and 0 <= self.momentum < 1 and self.weight_decay >= 0):
            raise SettingsError(
                "rate must be positive, momentum in [0, 1), weight_decay at least 0, "
                f"not {self.rate}, {self.momentum}, {self.weight_decay}."
            )
        if not 0 <= self.final_rate_share <= 1:
            raise SettingsError(f"final_rate_share must be in [0, 1], not {self.final_rate_share}.")
        if self.together not in MODES:
            raise SettingsError(f"together must be one of {', '.join(MODES)}, not {self.together!r}.")
        if self.precision not in PRECISIONS:
            raise SettingsError(f"precision must be one of {', '.join(PRECISIONS)}, not {self.precision!r}.")

    @property
    def is_plain(self) -> bool:
        """Whether the network runs in float32 as it is written, without noise."""
        return (
            self.precision == "float32"
            and not self.channels_last
            and not self.compiled
            and self.privacy is None
        )


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """What a training gives.

    Attributes:
        weights: on the CPU.
        curve: None for a differentially private training, whose epsilon would not cover it.
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
    """The weights of `fit`."""
    return fit(architecture, weights, samples, settings, stream).weights


def fit(
    architecture: Architecture,
    weights: Weights,
    samples: Samples,
    settings: TrainingSettings,
    stream: torch.Generator,
) -> Fitted:
    """`W = train(W~, phi, D)`: cross-entropy on shuffled batches, on the device of the samples.

    The result lies on the CPU.  The batches depend on `stream` alone, so the same stream gives the same
    bits (on a CPU with a fixed number of threads).

    Raises:
        LearningError: no samples, weights of another architecture, or a result that is not finite.
    """
    if not len(samples):
        raise LearningError("training needs samples; this user has none left: leave its model out.")
    if settings.privacy is not None:
        private = train_privately(architecture, weights, samples, settings, settings.privacy, stream)
        return Fitted(private, None)
    device = samples.x.device
    with memory_errors(device):
        module = architecture.module(weights, device).train()
        optimiser = _Sgd(module, settings)
        network = compiled(module) if settings.compiled else module
        tally = Tally()
        steps = settings.epochs * -(-len(samples) // settings.batch)
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
            optimiser.step(learning_rate(settings, step, steps))
        trained = detached({name: tensor.cpu() for name, tensor in module.state_dict().items()})
        (curve,) = tally.curves([len(samples)], settings.epochs)
    require_finite(trained, "a trained model")
    return Fitted(trained, curve)


def learning_rate(settings: TrainingSettings, step: int, steps: int) -> float:
    """Linear from `rate` at the first step to `rate * final_rate_share` at the last."""
    return settings.rate * (1 - (1 - settings.final_rate_share) * step / max(1, steps - 1))


def _batches(
    size: int, settings: TrainingSettings, stream: torch.Generator, device: torch.device
) -> Iterator[Tensor]:
    for _ in range(settings.epochs):
        yield from torch.split(torch.randperm(size, generator=stream).to(device), settings.batch)


class _Sgd:
    """torch.optim.SGD's update, on one flat vector instead of one tensor a layer:
    `g = grad + decay w;  v = momentum v + g;  w = w - rate v`."""

    def __init__(self, module: nn.Module, settings: TrainingSettings) -> None:
        parameters = list(module.parameters())
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
