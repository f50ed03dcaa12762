# SPDX-License-Identifier: Apache-2.0
"""Training of a stack of models, step by step: the draws of batches, and the update of a step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from blockful_py.learning.data import Samples
from blockful_py.learning.models import Architecture
from blockful_py.learning.probabilities import RESOLUTION, softmax
from blockful_py.learning.stacked import FORMS, Stack, stack_weights
from blockful_py.learning.weights import Weights, detached, require_finite
from blockful_py.settings import TrainingSettings

SIZES_OF_LAST_BATCH = 4
"""Fraction of a batch that sizes of last batches are rounded up to.

Users with nearly equal numbers of samples then train in one stack.
"""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Settings and batch sizes that the models of a stack share.

    Attributes:
        batches: number of batches of an epoch.
        last: rows of the last batch, padding included.
    """

    settings: TrainingSettings
    batches: int
    last: int

    @classmethod
    def of(cls, settings: TrainingSettings, size: int) -> Schedule:
        """The schedule of a model with `size` samples, at least 1."""
        batch = settings.batch_size
        batches = -(-size // batch)
        step = max(1, batch // SIZES_OF_LAST_BATCH)
        last = size - (batches - 1) * batch
        return cls(settings, batches, min(batch, -(-last // step) * step))

    @property
    def steps(self) -> int:
        """Steps of the whole training."""
        return self.settings.epochs * self.batches


def batches(
    schedule: Schedule, sizes: Sequence[int], streams: Sequence[torch.Generator]
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yields each step's row numbers, int64 (M, B), and loss shares, float32 (M, B).

    Row numbers count through the samples of all models.  A row's share of its model's loss is `1 / own rows`,
    and 0 for padding, which repeats the model's first sample.
    """
    offsets = [sum(sizes[:i]) for i in range(len(sizes))]
    batch = schedule.settings.batch_size
    length = (schedule.batches - 1) * batch + schedule.last
    shares = torch.zeros(len(sizes), length)
    for i, size in enumerate(sizes):
        whole = (schedule.batches - 1) * batch
        shares[i, :whole] = 1 / batch
        shares[i, whole:size] = 1 / (size - whole)
    for _ in range(schedule.settings.epochs):
        rows = torch.tensor(offsets).unsqueeze(1).repeat(1, length)
        for i, (stream, size) in enumerate(zip(streams, sizes, strict=True)):
            rows[i, :size] = torch.randperm(size, generator=stream) + offsets[i]
        yield from zip(torch.split(rows, batch, 1), torch.split(shares, batch, 1), strict=True)


class StackTraining:
    """M models of one schedule, trained at once.

    Attributes:
        optimiser: the weights and the velocity between two steps.
    """

    def __init__(
        self,
        architecture: Architecture,
        schedule: Schedule,
        weights: Sequence[Weights],
        samples: Sequence[Samples],
    ) -> None:
        """Stacks M models for training.

        Args:
            weights: M initial state dicts.
            samples: samples of the M models, on the training device.

        Raises LearningError for weights of another architecture.
        """
        self._form = FORMS[architecture.name]
        self._schedule = schedule
        self._device = samples[0].x.device
        models = {str(i): each for i, each in enumerate(weights)}
        stack = self._form.packed(stack_weights(architecture, models, self._device))
        self.optimiser = StackedSgd(stack, schedule.settings)
        self._prepared = torch.cat([self._form.prepared(each.x) for each in samples])
        self._labels = torch.cat([each.y for each in samples])

    def step(self, number: int, rows: Tensor, shares: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Runs step `number`, from 0, on one batch of `batches`.

        Returns losses (M B,), logits (M B, classes) and labels (M B,).  A loss is at most 40 ln 2 nats,
        because probabilities are multiples of 2^-40.
        """
        flat = rows.to(self._device).reshape(-1)
        x = self._prepared.index_select(0, flat).view(*rows.shape, *self._prepared.shape[1:])
        self.optimiser.zero()
        logits = self._form.logits(self.optimiser.stack, x).flatten(0, 1)
        y = self._labels[flat]
        probabilities = softmax(logits.detach())
        of_label = probabilities.gather(1, y.unsqueeze(1))
        gradient = probabilities.scatter(1, y.unsqueeze(1), of_label - 1).float()
        gradient.mul_(shares.to(self._device).reshape(-1, 1))
        torch.dot(logits.flatten(), gradient.flatten()).backward()  # type: ignore[no-untyped-call]
        self.optimiser.step(self._schedule.settings.rate_at(number, self._schedule.steps))
        return of_label.squeeze(1).clamp(min=RESOLUTION).log().neg(), logits, y

    def weights(self) -> list[Weights]:
        """The current M state dicts, on the CPU.  Raises LearningError unless they are finite."""
        unpacked = self._form.unpacked(self.optimiser.stack)
        each = [
            detached({name: tensor[i].cpu() for name, tensor in unpacked.items()})
            for i in range(len(next(iter(unpacked.values()))))
        ]
        for weights in each:
            require_finite(weights, "a trained model")
        return each


class StackedSgd:
    """The update of `training._Sgd` on all weights of a stack, with the same rounding at every position.

    Products and sums are separate operations; a vector unit would fuse them for most numbers, but not for the
    last few.

    Attributes:
        stack: weights of M models by name, float32 (M, ...), leaves with gradients; views of one vector.
        velocity: velocities of all weights, float32 (M D,), in the stack's order.
    """

    def __init__(self, stack: Stack, settings: TrainingSettings) -> None:
        self._settings = settings
        self._weights = torch.cat([tensor.flatten() for tensor in stack.values()])
        self._gradient = torch.zeros_like(self._weights)
        self.velocity = torch.zeros_like(self._weights)
        self._term = torch.empty_like(self._weights)
        sizes = [tensor.numel() for tensor in stack.values()]
        flat = (torch.split(vector, sizes) for vector in (self._weights, self._gradient))
        self.stack: dict[str, Tensor] = {}
        for (name, tensor), weight, gradient in zip(stack.items(), *flat, strict=True):
            leaf = weight.view(tensor.shape).requires_grad_()
            leaf.grad = gradient.view(tensor.shape)
            self.stack[name] = leaf

    def zero(self) -> None:
        self._gradient.zero_()

    @torch.no_grad()
    def step(self, rate: float) -> None:
        torch.mul(self._weights, self._settings.weight_decay, out=self._term)
        self._gradient.add_(self._term)
        self.velocity.mul_(self._settings.momentum).add_(self._gradient)
        torch.mul(self.velocity, -rate, out=self._term)
        self._weights.add_(self._term)
