# SPDX-License-Identifier: Apache-2.0
"""MobileNetV2 (Sandler et al. 2018) in its variant for small images."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from blockful_py.learning.models.layers import Classifier, normalisation, padded

STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 1),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
"""Expansion, maps, blocks, and stride of the first block (the ImageNet variant's second stage has 2)."""

FEATURES = 1280


class InvertedResidual(nn.Module):
    """A 1x1 convolution to `expansion` times as many maps, a depthwise 3x3 one, and a 1x1 one back.

    At stride 1 it has a shortcut, which is a 1x1 convolution if the number of maps changes.
    """

    def __init__(
        self, maps: int, out: int, expansion: int, stride: int, norm: str, device: torch.device
    ) -> None:
        super().__init__()
        wide = expansion * maps
        self.expand = nn.Conv2d(maps, wide, 1, bias=False, device=device)
        self.norm1 = normalisation(norm, wide, device)
        self.filter = nn.Conv2d(
            wide, wide, 3, stride=stride, padding=1, groups=wide, bias=False, device=device
        )
        self.norm2 = normalisation(norm, wide, device)
        self.project = nn.Conv2d(wide, out, 1, bias=False, device=device)
        self.norm3 = normalisation(norm, out, device)
        self.shortcut: nn.Module | None = nn.Sequential() if stride == 1 else None
        if stride == 1 and maps != out:
            self.shortcut = nn.Sequential(
                nn.Conv2d(maps, out, 1, bias=False, device=device), normalisation(norm, out, device)
            )

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = functional.relu(self.norm1(self.expand(x)))
        y = functional.relu(self.norm2(self.filter(y)))
        y = self.norm3(self.project(y))
        if self.shortcut is None:
            return y
        shortcut: Tensor = self.shortcut(x)
        return y + shortcut


class MobileNetV2(Classifier):
    """A 3x3 convolution, 17 inverted residuals, a 1x1 convolution, one dense layer.

    2,296,922 parameters for colour images of 10 classes, as in kuangliu/pytorch-cifar.  Its shortcuts have
    weights, which the ImageNet variant lacks (torchvision: 3,504,872 for 1,000 classes).
    `norm` is "batch" or "group" (see `layers.normalisation`).
    """

    def __init__(
        self, input_shape: tuple[int, ...], class_count: int, device: torch.device, norm: str = "batch"
    ) -> None:
        super().__init__()
        channels, _, _ = input_shape
        self.conv1 = nn.Conv2d(channels, 32, 3, padding=1, bias=False, device=device)
        self.norm1 = normalisation(norm, 32, device)
        blocks: list[nn.Module] = []
        maps = 32
        for expansion, out, count, first in STAGES:
            for stride in (first, *(1,) * (count - 1)):
                blocks.append(InvertedResidual(maps, out, expansion, stride, norm, device))
                maps = out
        self.blocks = nn.Sequential(*blocks)
        self.conv2 = nn.Conv2d(maps, FEATURES, 1, bias=False, device=device)
        self.norm2 = normalisation(norm, FEATURES, device)
        self.head = nn.Linear(FEATURES, class_count, device=device)

    def features(self, x: Tensor) -> Tensor:
        """Penultimate activations, float32 (B, 1280), of images, float32 (B, C, H, W)."""
        x = functional.relu(self.norm1(self.conv1(padded(x))))  # (B, 32, H, W)
        x = self.blocks(x)  # (B, 320, H/8, W/8)
        return functional.relu(self.norm2(self.conv2(x))).mean((2, 3))
