# SPDX-License-Identifier: Apache-2.0
"""Gradient descent on a custom loss, for healing, distillation and fine-tuning."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from blockful_py.errors import SettingsError
from blockful_py.learning.data import Samples
from blockful_py.learning.device import network_errors
from blockful_py.learning.models.architecture import trainable
from blockful_py.learning.streams import drawing_from
from blockful_py.learning.weights import Weights, detached, require_finite

Loss = Callable[[nn.Module, Samples], Tensor]
"""Loss to minimise, a scalar tensor (), of a network and a batch (B, ...)."""


@dataclass(frozen=True, slots=True)
class Descent:
    """SGD with momentum; the rate falls from `rate` to `rate * final_share` along half a cosine.

    Attributes:
        clip: maximum L2 norm of the whole gradient, which is scaled down to it; None for no limit.

    The constructor raises SettingsError for a value out of range.
    """

    rate: float
    momentum: float = 0.9
    final_share: float = 0.1
    clip: float | None = None

    def __post_init__(self) -> None:
        clip = 1.0 if self.clip is None else self.clip
        if not (math.isfinite(self.rate) and self.rate > 0 and 0 <= self.momentum < 1) or not (
            clip > 0 and 0 <= self.final_share <= 1
        ):
            raise SettingsError(
                "rate and clip must be positive, momentum in [0, 1), final_share in [0, 1], "
                f"not {self.rate}, {self.clip}, {self.momentum}, {self.final_share}."
            )

    def run(
        self,
        module: nn.Module,
        loss: Loss,
        batches: Sequence[Samples],
        stream: torch.Generator,
        layers: Iterable[str] | None = None,
        masks: Mapping[str, Tensor] | None = None,
        ends: Callable[[int], bool] | None = None,
    ) -> None:
        """Takes one step for each batch, in place.

        Args:
            module: on the device of the batches.
            stream: CPU generator that determines dropout's draws; its state does not change.
            layers: names of the parameters that may change; by default all that are not frozen.
            masks: by parameter's name and in its shape, 1 if a weight may change, else 0.
            ends: called with the number of steps done after each; True ends the descent.
        """
        wanted = None if layers is None else set(layers)
        moving = {n: p for n, p in trainable(module).items() if wanted is None or n in wanted}
        device = next(iter(moving.values())).device if moving else torch.device("cpu")
        with network_errors(device), drawing_from(stream, device):
            self._descend(module, moving, loss, batches, masks, ends)

    def _descend(
        self,
        module: nn.Module,
        moving: Mapping[str, nn.Parameter],
        loss: Loss,
        batches: Sequence[Samples],
        masks: Mapping[str, Tensor] | None,
        ends: Callable[[int], bool] | None,
    ) -> None:
        speed = {name: torch.zeros_like(parameter) for name, parameter in moving.items()}
        for step, batch in enumerate(batches):
            derivatives = torch.autograd.grad(loss(module, batch), [*moving.values()], materialize_grads=True)
            gradients = dict(zip(moving, derivatives, strict=True))
            scale = self._scale(gradients.values())
            rate = self._rate(step, len(batches))
            with torch.no_grad():
                for name, parameter in moving.items():
                    gradient = gradients[name] * scale
                    if masks is not None:
                        gradient = gradient * masks[name]
                    speed[name].mul_(self.momentum).add_(gradient)
                    parameter.sub_(speed[name], alpha=rate)
            if ends is not None and ends(step + 1):
                return

    def _scale(self, gradients: Iterable[Tensor]) -> float:
        if self.clip is None:
            return 1.0
        norm = math.sqrt(sum(float(gradient.double().square().sum()) for gradient in gradients))
        return min(1.0, self.clip / max(norm, 1e-12))

    def _rate(self, step: int, steps: int) -> float:
        left = 0.5 * (1 + math.cos(math.pi * step / max(1, steps - 1)))
        return self.rate * (self.final_share + (1 - self.final_share) * left)


def clipped_descent(rate: float) -> Descent:
    """SGD with momentum 0.9 and gradients clipped at an L2 norm of 5.  Raises SettingsError."""
    return Descent(rate, momentum=0.9, clip=5.0)


def cross_entropy(network: nn.Module, batch: Samples) -> Tensor:
    """Mean cross-entropy with the true labels."""
    return functional.cross_entropy(network(batch.x), batch.y)


def batches_of(samples: Samples, size: int, steps: int, stream: torch.Generator) -> list[Samples]:
    """Draws `steps` batches of min(size, n) of n samples; every sample comes once before any comes again.

    There is at least one sample; `stream` is a CPU generator.
    """
    taken = min(size, len(samples))
    order = _endless(len(samples), stream)
    return [samples.at(torch.tensor([next(order) for _ in range(taken)])) for _ in range(steps)]


def epochs_of(samples: Samples, size: int, epochs: int, stream: torch.Generator) -> list[Samples]:
    """Shuffled batches of `size` samples for all epochs; the last batch of an epoch may be smaller."""
    return [
        samples.at(rows)
        for _ in range(epochs)
        for rows in torch.split(torch.randperm(len(samples), generator=stream), size)
    ]


def weights_of(module: nn.Module, whose: str) -> Weights:
    """The module's state dict, copied to the CPU.  Raises LearningError unless it is finite."""
    weights = detached({name: tensor.cpu() for name, tensor in module.state_dict().items()})
    require_finite(weights, whose)
    return weights


def _endless(count: int, stream: torch.Generator) -> Iterator[int]:
    while True:
        yield from torch.randperm(count, generator=stream).tolist()
