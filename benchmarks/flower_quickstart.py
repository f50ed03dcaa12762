# SPDX-License-Identifier: Apache-2.0
"""Trains Flower's own PyTorch quickstart, unmodified, under both adapters, and has a client forgotten.

    flwr new @flwrlabs/quickstart-pytorch
    python -m benchmarks.flower_quickstart quickstart-pytorch --work runs/quickstart

The app downloads CIFAR-10 by flwr-datasets and reads it with torchvision.  Modules of the same names stand in
for both here: they serve scikit-learn's digits, enlarged to 32 x 32 pixels in three channels.  The network,
the loops, the ClientApp and the ServerApp are the app's own.
"""

from __future__ import annotations

import argparse
import os
import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import datasets
import numpy as np
import torch
from flwr.app import ConfigRecord, Context, RecordDict
from flwr.serverapp.strategy import FedAvg
from sklearn.datasets import load_digits
from torch import Tensor

from blockful_py import Federation, Settings
from blockful_py.flower import BlockfulStrategy, FlowerUser, LocalGrid
from blockful_py.forget import Forget
from blockful_py.learning.data import Dataset, Samples
from blockful_py.pipeline.proving import opened_chains
from blockful_py.record.certificates.document import ErasureCertificate, parse_certificate
from blockful_py.record.certificates.verifying import verify_certificate
from blockful_py.record.proofs.anchors import Anchors
from blockful_py.settings import DataOptions

NODES = 5
PUBLIC = 360
"""Digits that no client holds."""


def digits(first: int, last: int) -> datasets.Dataset:
    """Digits in one fixed order, as the app expects CIFAR-10: `img` (32, 32, 3) of bytes, `label`."""
    bunch = load_digits()
    rows = np.random.default_rng(0).permutation(len(bunch.target))[first:last]
    grey = (bunch.images[rows] * 255 / 16).astype(np.uint8).repeat(4, axis=1).repeat(4, axis=2)
    return datasets.Dataset.from_dict(
        {"img": list(np.repeat(grey[..., None], 3, axis=3)), "label": bunch.target[rows].tolist()}
    )


class IidPartitioner:
    """Stands in for that of flwr-datasets."""

    def __init__(self, num_partitions: int) -> None:
        self.num_partitions = num_partitions


class FederatedDataset:
    """Stands in for that of flwr-datasets: every so many-th digit is a client's."""

    def __init__(self, dataset: str, partitioners: dict[str, IidPartitioner]) -> None:
        self._whole = digits(PUBLIC, 1797)
        self._partitions = partitioners["train"].num_partitions

    def load_partition(self, number: int) -> datasets.Dataset:
        return self._whole.shard(self._partitions, number)


class Compose:
    """Stands in for that of torchvision."""

    def __init__(self, steps: Iterable[Callable[[Any], Any]]) -> None:
        self._steps = tuple(steps)

    def __call__(self, value: Any) -> Any:
        for step in self._steps:
            value = step(value)
        return value


class ToTensor:
    """Stands in for that of torchvision: bytes (h, w, c) to float32 (c, h, w) from 0 to 1."""

    def __call__(self, image: Any) -> Tensor:
        return torch.from_numpy(np.asarray(image, dtype=np.float32) / 255).permute(2, 0, 1)


class Normalize:
    """Stands in for that of torchvision."""

    def __init__(self, mean: tuple[float, ...], std: tuple[float, ...]) -> None:
        self._mean, self._std = (torch.tensor(values).view(-1, 1, 1) for values in (mean, std))

    def __call__(self, image: Tensor) -> Tensor:
        return (image - self._mean) / self._std


def stand_in() -> None:
    """Puts the modules that the app imports its data from in place."""
    stand_ins: dict[str, dict[str, Any]] = {
        "flwr_datasets": {"FederatedDataset": FederatedDataset},
        "flwr_datasets.partitioner": {"IidPartitioner": IidPartitioner},
        "torchvision": {},
        "torchvision.transforms": {"Compose": Compose, "Normalize": Normalize, "ToTensor": ToTensor},
    }
    for name, members in stand_ins.items():
        module = ModuleType(name)
        vars(module).update(members)
        sys.modules[name] = module
    datasets.load_dataset = lambda name, split: digits(0, PUBLIC)


def load(seed: int, options: DataOptions) -> Dataset:
    """What members measure on: the app's own central test set."""
    from pytorchexample.task import load_centralized_dataset

    batches = list(load_centralized_dataset())
    x, y = (torch.cat([batch[key] for batch in batches]) for key in ("img", "label"))
    return Dataset("public", 10, Samples(x[:0], y[:0]), Samples(x, y), Samples(x[:0], y[:0]))


def settings(users: int, **learning: str) -> Settings:
    return Settings.parse(
        {
            "federation": {"scenario": "organic", "users": users},
            "learning": {
                "model": "blockful_py.flower.network:network",
                "options": {"of": "pytorchexample.task:Net"},
                "dataset": "benchmarks.flower_quickstart:load",
                **learning,
            },
            "unlearning": {"starts": ["r1"]},
            "committee": {"attested": True},
            "chain": {"packaging_interval": 0},
        }
    )


def recorded(run: Path, config: dict[str, Any]) -> None:
    """The app's ServerApp with a record of its rounds; node 3 is forgotten."""
    from pytorchexample import server_app
    from pytorchexample.client_app import app

    grid, made = LocalGrid(app, NODES, config), []

    def strategy(**options: Any) -> BlockfulStrategy:
        made.append(BlockfulStrategy(FedAvg(**options), run, settings(NODES + 1)))
        return made[0]

    server_app.FedAvg = strategy
    server_app.app(grid, Context(1, 1, {}, RecordDict(), config))
    with made[0] as record:
        before = {name: model.accuracy for name, model in record.federation.models().items()}
        forgotten = record.unlearn(grid, 3, ConfigRecord({"lr": config["learning-rate"]}))
        after = {name: model.accuracy for name, model in record.federation.models().items()}
        assert record.federation.verify().passed and record.federation.audit().passed
    report("recorded", before, after)
    check(run, parse_certificate(forgotten.certificate.read_bytes()))


def participants(run: Path, config: dict[str, Any]) -> None:
    """The app's ClientApp as the training of participants; client 2 is forgotten."""
    from pytorchexample.client_app import app

    sys.modules["quickstart_trainer"] = module = ModuleType("quickstart_trainer")
    vars(module)["trainer"] = FlowerUser(app, NODES, config, {"lr": config["learning-rate"]})
    with Federation.create(settings(NODES, trainer="quickstart_trainer:trainer"), run) as federation:
        federation.train()
        before = {name: model.accuracy for name, model in federation.models().items()}
        done = federation.unlearn(["r2"], None, "sequential", "retrain", forget=Forget.of_clients([2]))
        after = {name: model.accuracy for name, model in federation.models().items()}
        assert federation.verify().passed and federation.audit().passed
        certificate = federation.certify_erasure(done.request)
    report("participants", before, after)
    check(run, certificate)


def check(run: Path, certificate: ErasureCertificate) -> None:
    """Verifies a certificate against the chains of the run."""
    with opened_chains(run) as chains:
        verify_certificate(certificate, Anchors(), chains=chains)
    print(f"  certificate verified: {len(certificate.statement.replaced)} models")


def report(way: str, before: dict[str, float], after: dict[str, float]) -> None:
    print(f"{way}: accuracy on {PUBLIC} public digits in %, before and after")
    for name in before:
        print(f"  {name:16} {100 * before[name]:5.1f} {100 * after[name]:5.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("app", type=Path, help="the folder that flwr new wrote")
    parser.add_argument("--work", type=Path, required=True, help="a new folder for both runs")
    options = parser.parse_args()
    folder, work = options.app.resolve(), options.work.resolve()
    work.mkdir(parents=True)
    document = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    config = document["tool"]["flwr"]["app"]["config"]
    stand_in()
    sys.path.insert(0, str(folder))
    os.chdir(work)  # the ServerApp saves its model into the current folder
    torch.manual_seed(0)
    participants(work / "participants", config)
    recorded(work / "recorded", config)


if __name__ == "__main__":
    main()
