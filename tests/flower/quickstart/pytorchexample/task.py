# SPDX-License-Identifier: Apache-2.0
"""The app's network, data and loops: scikit-learn's handwritten digits."""

from __future__ import annotations

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader

PUBLIC = 360
"""Digits that no client holds."""


class Net(nn.Module):
    """A small convolutional network for 8 x 8 pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 12, 3)
        self.dense = nn.Linear(12 * 3 * 3, 48)
        self.head = nn.Linear(48, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.max_pool2d(functional.relu(self.conv(x)), 2)
        return self.head(functional.relu(self.dense(x.flatten(1))))


def loader(rows: Tensor, batch_size: int, shuffle: bool = False) -> DataLoader:
    """Batches of `img` (b, 1, 8, 8) and `label` (b,), from one fixed order of all digits."""
    bunch = load_digits()
    order = torch.randperm(len(bunch.target), generator=torch.Generator().manual_seed(0))[rows]
    images = torch.tensor(bunch.images, dtype=torch.float32)[order, None] / 16
    samples = [
        {"img": x, "label": int(y)} for x, y in zip(images, torch.tensor(bunch.target)[order], strict=True)
    ]
    return DataLoader(samples, batch_size=batch_size, shuffle=shuffle)


def load_data(partition_id: int, num_partitions: int, batch_size: int) -> tuple[DataLoader, DataLoader]:
    """A client's samples, four fifths to train on and one fifth to test on."""
    rows = torch.arange(PUBLIC, 1797)[partition_id::num_partitions]
    split = len(rows) * 4 // 5
    return loader(rows[:split], batch_size, shuffle=True), loader(rows[split:], batch_size)


def load_centralized_dataset() -> DataLoader:
    """The samples that the server has."""
    return loader(torch.arange(PUBLIC), 128)


def train(net: nn.Module, batches: DataLoader, epochs: int, lr: float) -> float:
    """SGD on the cross-entropy; returns the last loss."""
    optimiser = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)
    net.train()
    loss = torch.zeros(())
    for _ in range(epochs):
        for batch in batches:
            optimiser.zero_grad()
            loss = functional.cross_entropy(net(batch["img"]), batch["label"])
            loss.backward()
            optimiser.step()
    return loss.item()


def test(net: nn.Module, batches: DataLoader) -> float:
    """Accuracy, from 0 to 1."""
    net.eval()
    with torch.no_grad():
        right = [(net(batch["img"]).argmax(1) == batch["label"]).float() for batch in batches]
    return torch.cat(right).mean().item()
