# SPDX-License-Identifier: Apache-2.0
"""Accuracy on the class and the rest after passing, by its use of batch normalisation's statistics.

    python -m benchmarks.running_statistics [seeds]

`paper14` on digits with a small network with batch normalisation; means over the descendants and the seeds.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.modules.batchnorm import _BatchNorm

from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.graph.path_weights import PathWeights, path_weights
from blockful_py.learning.data import Samples
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.evaluation import hits
from blockful_py.learning.federation import FederationSpec, train_federation
from blockful_py.learning.models import Architecture
from blockful_py.learning.partitions import Division, partition
from blockful_py.learning.scenario import PAPER14
from blockful_py.learning.streams import generator
from blockful_py.learning.training import train
from blockful_py.learning.weights import (
    Weights,
    aggregate,
    detached,
    flatten,
    unflatten,
    with_sound_variances,
)
from blockful_py.settings import FederationSettings, Situation

CPU = torch.device("cpu")
CLASS, STARTS, HOLDERS = 3, ("r5", "r7"), (5, 7)
STATISTICS = ("running_mean", "running_var")
Models = Mapping[str, Weights]


class Normalised(nn.Module):
    """The small network with batch normalisation after each layer but the last."""

    def __init__(self, input_shape: tuple[int, ...], class_count: int, device: torch.device) -> None:
        super().__init__()
        channels, height, width = input_shape
        self.conv1 = nn.Conv2d(channels, 16, 3, padding=1, bias=False, device=device)
        self.norm1 = nn.BatchNorm2d(16, device=device)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1, bias=False, device=device)
        self.norm2 = nn.BatchNorm2d(32, device=device)
        self.dense = nn.Linear(32 * (height // 4) * (width // 4), 64, device=device)
        self.norm3 = nn.BatchNorm1d(64, device=device)
        self.head = nn.Linear(64, class_count, device=device)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.max_pool2d(functional.relu(self.norm1(self.conv1(x))), 2)
        x = functional.max_pool2d(functional.relu(self.norm2(self.conv2(x))), 2)
        logits: Tensor = self.head(functional.relu(self.norm3(self.dense(x.flatten(1)))))
        return logits


def passed(old: Models, new: Models, paths: PathWeights) -> dict[str, Weights]:
    """w + C delta, nothing kept sound."""
    deltas = np.stack([flatten(new[start]) - flatten(old[start]) for start in paths.starts])
    rows = dict(zip(paths.names, paths.matrix, strict=True))
    return {
        name: unflatten((flatten(old[name]) + rows[name] @ deltas).astype(np.float32), old[name])
        for name in paths.descendants
    }


def measured_again(network: Architecture, weights: Weights, samples: Samples) -> Weights:
    """With the statistics of these samples."""
    module = network.module(weights, CPU).train()
    for part in module.modules():
        if isinstance(part, _BatchNorm):
            part.momentum = None
            part.reset_running_stats()
    with torch.no_grad():
        module(samples.x)
    return detached(module.state_dict())


def measure(seed: int, situation: Situation) -> dict[str, tuple[float, float]]:
    """(AD_f, AD_r) on held-out data, in %, by variant."""
    data = load_dataset("digits", seed, CPU)
    federation = FederationSettings(situation=situation)
    users = partition(data, Division(federation, HOLDERS, (CLASS,)), seed)
    network = Architecture(f"{__name__}:Normalised", data.input_shape, data.class_count)
    settings = FederationSpec(network, federation, seed=seed)
    models = {model.name: model for wave in train_federation(settings, users) for model in wave}
    old = {name: model.weights for name, model in models.items()}
    paths = path_weights(InheritanceGraph.from_references(PAPER14), STARTS)
    new = {}
    for name in STARTS:
        model = models[name]
        own = users[model.user - 1].train.without((CLASS,))
        stream = generator(seed, "retrain", model.user, model.round)
        new[name] = train(network, aggregate([old[r] for r in PAPER14[name]]), own, model.training, stream)
    moved = passed(old, new, paths)

    def kept(name: str) -> Weights:
        still = {key: old[name][key] for key in old[name] if key.endswith(STATISTICS)}
        return {**moved[name], **still}

    variants: dict[str, Models] = {
        "before": {name: old[name] for name in moved},
        "moved, no floor": moved,
        "left as they were": {name: kept(name) for name in moved},
        "moved, with the floor": {name: with_sound_variances(moved[name], old[name]) for name in moved},
        "measured again": {
            name: measured_again(network, moved[name], users[models[name].user - 1].train.without((CLASS,)))
            for name in moved
        },
    }
    is_class = data.test.y == CLASS

    def score(weights: Models) -> tuple[float, float]:
        right = torch.stack(list(hits(network, weights, data.test).values()))
        return 100 * float(right[:, is_class].mean()), 100 * float(right[:, ~is_class].mean())

    return {variant: score(weights) for variant, weights in variants.items()}


def main() -> None:
    torch.set_num_threads(1)
    seeds = range(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
    for situation in ("few_hold", "all_hold"):
        found = [measure(seed, situation) for seed in seeds]
        for variant in found[0]:
            ad_f, ad_r = np.mean([each[variant] for each in found], axis=0)
            print(f"{situation:9} {variant:22} AD_f {ad_f:5.1f} %  AD_r {ad_r:5.1f} %")


if __name__ == "__main__":
    main()
