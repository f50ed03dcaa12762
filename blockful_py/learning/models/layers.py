# SPDX-License-Identifier: Apache-2.0
"""The networks' common base, and layers shared by those for images."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional

SMALLEST = 32
"""Minimum height and width, in pixels, of inputs of the networks' CIFAR variants."""


class Classifier(nn.Module, ABC):
    """A network whose linear head classifies features."""

    head: nn.Linear

    @abstractmethod
    def features(self, x: Tensor) -> Tensor:
        """Penultimate activations, float32 (B, F), of a batch of inputs (B, ...)."""

    def forward(self, x: Tensor) -> Tensor:
        """Logits, float32 (B, classes), of a batch of inputs (B, ...)."""
        logits: Tensor = self.head(self.features(x))
        return logits


def padded(x: Tensor) -> Tensor:
    """Images (B, C, H, W) padded with zeros to (B, C, max(H, 32), max(W, 32))."""
    height, width = x.shape[-2:]
    rows, columns = max(0, SMALLEST - height), max(0, SMALLEST - width)
    if not rows and not columns:
        return x
    return functional.pad(x, (columns // 2, columns - columns // 2, rows // 2, rows - rows // 2))


def normalisation(kind: str, channels: int, device: torch.device) -> nn.Module:
    """The normalisation layer of a kind, (B, channels, H, W) to the same shape, 2 parameters per channel.

    "batch" is batch normalisation.  "group" is group normalisation (Wu and He 2018) with at most 32 groups;
    it keeps no running statistics and does not mix samples.

    Raises ValueError: another kind.
    """
    if kind == "batch":
        return nn.BatchNorm2d(channels, device=device)
    if kind == "group":
        return nn.GroupNorm(math.gcd(32, channels), channels, device=device)
    raise ValueError(f"norm must be 'batch' or 'group', not {kind!r}")


def output_layers(module: nn.Module, class_count: int) -> list[tuple[str, nn.Linear]]:
    """Names and modules of the linear layers with one output per class, in order: weights (classes, d)."""
    linear = ((name, part) for name, part in module.named_modules() if isinstance(part, nn.Linear))
    return [(name, part) for name, part in linear if part.out_features == class_count]
