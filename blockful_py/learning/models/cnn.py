# SPDX-License-Identifier: Apache-2.0
"""The small convolutional network."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from blockful_py.learning.models.layers import Classifier


class Cnn(Classifier):
    """Two 3x3 convolutions (16 and 32 maps, padded, ReLU, 2x2 max-pool), dense 64, dense to the classes.

    13,706 parameters for 8x8 grey images of 10 classes.
    """

    def __init__(self, input_shape: tuple[int, ...], class_count: int, device: torch.device) -> None:
        super().__init__()
        channels, height, width = input_shape
        self.conv1 = nn.Conv2d(channels, 16, 3, padding=1, device=device)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1, device=device)
        self.dense = nn.Linear(32 * (height // 4) * (width // 4), 64, device=device)
        self.head = nn.Linear(64, class_count, device=device)

    def features(self, x: Tensor) -> Tensor:
        """Penultimate activations, float32 (B, 64), of images, float32 (B, C, H, W)."""
        x = functional.max_pool2d(functional.relu(self.conv1(x)), 2)  # (B, 16, H/2, W/2)
        x = functional.max_pool2d(functional.relu(self.conv2(x)), 2)  # (B, 32, H/4, W/4)
        return functional.relu(self.dense(x.flatten(1)))
