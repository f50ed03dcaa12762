# SPDX-License-Identifier: Apache-2.0
"""The small network for tables."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional


class Mlp(nn.Module):
    """Two dense layers of 64 (ReLU), dense to the classes; 5,706 parameters for 13 inputs and 10 classes."""

    def __init__(self, input_shape: tuple[int, ...], class_count: int, device: torch.device) -> None:
        super().__init__()
        self.dense1 = nn.Linear(math.prod(input_shape), 64, device=device)
        self.dense2 = nn.Linear(64, 64, device=device)
        self.head = nn.Linear(64, class_count, device=device)

    def forward(self, x: Tensor) -> Tensor:
        """Logits, float32 (B, classes), of inputs, float32 (B, ...)."""
        x = functional.relu(self.dense1(x.flatten(1)))
        logits: Tensor = self.head(functional.relu(self.dense2(x)))
        return logits
