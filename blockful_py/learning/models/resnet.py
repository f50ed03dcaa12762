# SPDX-License-Identifier: Apache-2.0
"""ResNet18 (He et al. 2016) in its variant for small images."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from blockful_py.learning.models.layers import Classifier, normalisation, padded

STAGES = ((64, 1), (128, 2), (256, 2), (512, 2))
"""Maps of each stage, and the stride of its first block."""


class ResidualBlock(nn.Module):
    """relu(x' + conv(relu(conv(x)))); x' is x, or a 1x1 convolution of x if the shape changes."""

    def __init__(self, maps: int, out: int, stride: int, norm: str, device: torch.device) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(maps, out, 3, stride=stride, padding=1, bias=False, device=device)
        self.norm1 = normalisation(norm, out, device)
        self.conv2 = nn.Conv2d(out, out, 3, padding=1, bias=False, device=device)
        self.norm2 = normalisation(norm, out, device)
        self.shortcut = nn.Sequential()
        if stride != 1 or maps != out:
            self.shortcut = nn.Sequential(
                nn.Conv2d(maps, out, 1, stride=stride, bias=False, device=device),
                normalisation(norm, out, device),
            )

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm2(self.conv2(functional.relu(self.norm1(self.conv1(x)))))
        return functional.relu(y + self.shortcut(x))


class ResNet18(Classifier):
    """A 3x3 convolution without pooling, four stages of two blocks, one dense layer.

    11,173,962 parameters for colour images of 10 classes, as in kuangliu/pytorch-cifar.
    `norm` is "batch" or "group" (see `layers.normalisation`).
    """

    def __init__(
        self, input_shape: tuple[int, ...], class_count: int, device: torch.device, norm: str = "batch"
    ) -> None:
        super().__init__()
        channels, _, _ = input_shape
        self.conv = nn.Conv2d(channels, 64, 3, padding=1, bias=False, device=device)
        self.norm = normalisation(norm, 64, device)
        blocks: list[nn.Module] = []
        maps = 64
        for out, stride in STAGES:
            blocks += [
                ResidualBlock(maps, out, stride, norm, device),
                ResidualBlock(out, out, 1, norm, device),
            ]
            maps = out
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(maps, class_count, device=device)

    def features(self, x: Tensor) -> Tensor:
        """Penultimate activations, float32 (B, 512), of images, float32 (B, C, H, W)."""
        x = functional.relu(self.norm(self.conv(padded(x))))  # (B, 64, H, W)
        maps: Tensor = self.blocks(x)  # (B, 512, H/8, W/8)
        return maps.mean((2, 3))
