# SPDX-License-Identifier: Apache-2.0
"""A network whose weights take more than one block."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

WIDTH = 4096


class Wide(nn.Module):
    """One dense layer between pixels and classes: 307,210 parameters for 8x8 grey images of 10 classes."""

    def __init__(self, input_shape: tuple[int, ...], class_count: int, device: torch.device) -> None:
        super().__init__()
        channels, height, width = input_shape
        self.dense = nn.Linear(channels * height * width, WIDTH, device=device)
        self.head = nn.Linear(WIDTH, class_count, device=device)

    def features(self, x: Tensor) -> Tensor:
        """Penultimate activations, (B, WIDTH)."""
        return functional.relu(self.dense(x.flatten(1)))

    def forward(self, x: Tensor) -> Tensor:
        """Logits, (B, classes)."""
        logits: Tensor = self.head(self.features(x))
        return logits
