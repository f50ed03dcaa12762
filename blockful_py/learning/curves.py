# SPDX-License-Identifier: Apache-2.0
"""Learning curves: loss and accuracy of a training, epoch by epoch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Curve:
    """A training's own samples, each as its batch met it, before the step that the batch led to.

    Attributes:
        loss: mean cross-entropy of each epoch, in nats.
        accuracy: share of the samples that were classified rightly, from 0 to 1, of each epoch.
    """

    loss: tuple[float, ...]
    accuracy: tuple[float, ...]


HELD_STEPS = 64
"""Steps whose logits are held until they are judged together: one by one would take longer."""


class Tally:
    """Keeps what the steps of M models computed anyway, on their device, and reads it once at the end."""

    def __init__(self) -> None:
        self._losses: list[Tensor] = []
        self._right: list[Tensor] = []
        self._logits: list[Tensor] = []
        self._labels: list[Tensor] = []

    def step(self, losses: Tensor, logits: Tensor, labels: Tensor) -> None:
        """A batch of each model: losses (M B,), or () for the mean of all, logits (M B, classes) and labels
        (M B,)."""
        self._losses.append(losses.detach().expand(len(labels)))
        self._logits.append(logits.detach())
        self._labels.append(labels)
        if len(self._logits) == HELD_STEPS:
            self._judge()

    def _judge(self) -> None:
        if self._logits:
            right = torch.cat(self._logits).argmax(1) == torch.cat(self._labels)
            self._right += torch.split(right, [len(labels) for labels in self._labels])
            self._logits.clear()
            self._labels.clear()

    def curves(self, sizes: Sequence[int], epochs: int) -> tuple[Curve, ...]:
        """`sizes` are the samples of each model; what a batch was filled up with stands behind them."""
        self._judge()
        losses, right = (self._by_model(each, len(sizes), epochs) for each in (self._losses, self._right))
        return tuple(
            Curve(_means(losses[i, :, :size]), _means(right[i, :, :size])) for i, size in enumerate(sizes)
        )

    def _by_model(self, steps: Sequence[Tensor], models: int, epochs: int) -> Tensor:
        """(M, epochs, samples of an epoch), float64, on the CPU."""
        whole = torch.cat([step.view(models, -1) for step in steps], 1)
        return whole.view(models, epochs, -1).cpu().double()


def _means(values: Tensor) -> tuple[float, ...]:
    return tuple(values.mean(1).tolist())
