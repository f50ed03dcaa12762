# SPDX-License-Identifier: Apache-2.0
"""AlexNet (Krizhevsky 2014) in its variant for small images."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from blockful_py.learning.models.layers import Classifier, padded

FEATURES = 256


class AlexNet(Classifier):
    """Five convolutions, three max-pools, one dense layer, as in bearpaw/pytorch-classification for CIFAR.

    2,472,266 parameters for colour images of 10 classes (2.47 M in that repository's table).  Inputs over
    32x32 give more than one position before the dense layer; their features are the mean over the positions.
    """

    def __init__(self, input_shape: tuple[int, ...], class_count: int, device: torch.device) -> None:
        super().__init__()
        channels, _, _ = input_shape
        self.conv1 = nn.Conv2d(channels, 64, 11, stride=4, padding=5, device=device)
        self.conv2 = nn.Conv2d(64, 192, 5, padding=2, device=device)
        self.conv3 = nn.Conv2d(192, 384, 3, padding=1, device=device)
        self.conv4 = nn.Conv2d(384, 256, 3, padding=1, device=device)
        self.conv5 = nn.Conv2d(256, FEATURES, 3, padding=1, device=device)
        self.head = nn.Linear(FEATURES, class_count, device=device)

    def features(self, x: Tensor) -> Tensor:
        """Penultimate activations, float32 (B, 256), of images, float32 (B, C, H, W)."""
        x = functional.max_pool2d(functional.relu(self.conv1(padded(x))), 2)  # (B, 64, H/8, W/8)
        x = functional.max_pool2d(functional.relu(self.conv2(x)), 2)  # (B, 192, H/16, W/16)
        x = functional.relu(self.conv4(functional.relu(self.conv3(x))))
        x = functional.max_pool2d(functional.relu(self.conv5(x)), 2)  # (B, 256, H/32, W/32)
        return x.mean((2, 3))
