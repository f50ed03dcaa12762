# SPDX-License-Identifier: Apache-2.0
"""Learning curves: loss and accuracy per epoch of a training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Curve:
    """Loss and accuracy on the training samples, measured just before the step on each batch.

    Attributes:
        loss: mean cross-entropy of each epoch, in nats.
        accuracy: share of samples classified correctly in each epoch, from 0 to 1.
    """

    loss: tuple[float, ...]
    accuracy: tuple[float, ...]


HELD_STEPS = 64
"""Number of steps whose logits are compared with the labels at once, faster than step by step."""


class Tally:
    """Collects losses and hits of M models on their device, and reads them back once, at the end."""

    def __init__(self) -> None:
        self._losses: list[Tensor] = []
        self._right: list[Tensor] = []
        self._logits: list[Tensor] = []
        self._labels: list[Tensor] = []

    def step(self, losses: Tensor, logits: Tensor, labels: Tensor) -> None:
        """Adds one batch of B samples of each model.

        Args:
            losses: cross-entropy in nats, (M B,), or () for the mean over all samples.
            logits: (M B, classes), floating point of any precision.
            labels: int64 (M B,).
        """
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
        """The curve of each model, in order.

        Args:
            sizes: number of samples of each of the M models; further rows are padding and do not count.
            epochs: number of epochs in the recorded steps.
        """
        self._judge()
        losses, right = (self._by_model(each, len(sizes), epochs) for each in (self._losses, self._right))
        return tuple(
            Curve(_means(losses[i, :, :size]), _means(right[i, :, :size])) for i, size in enumerate(sizes)
        )

    def _by_model(self, steps: Sequence[Tensor], models: int, epochs: int) -> Tensor:
        """Joins the steps into (M, epochs, samples per epoch), float64, on the CPU."""
        whole = torch.cat([step.view(models, -1) for step in steps], 1)
        return whole.view(models, epochs, -1).cpu().double()


def _means(values: Tensor) -> tuple[float, ...]:
    return tuple(values.mean(1).tolist())
