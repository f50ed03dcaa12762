# SPDX-License-Identifier: Apache-2.0
"""Peak memory of a parallel request over many models of 1 MB, against their number.

    python -m benchmarks.large_request [--models 60 --models 180]

All models inherit from one.  They are published as they are drawn, untrained but for the noise that tells
them apart; the request is carried out in a process of its own, by four members in it, on two devnets.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch

from benchmarks.redaction import graph
from blockful_py.learning.candidates import ScoredModel
from blockful_py.learning.data import Dataset, Samples
from blockful_py.learning.federation import TrainedModel, initial_weights
from blockful_py.learning.streams import generator
from blockful_py.pipeline.federation import Federation
from blockful_py.settings import DataOptions, Settings, TrainingSettings

CLASSES, SIDE, SAMPLES = 10, 44, 4
"""The network has 253,322 numbers for images of 44 x 44: 1.01 MB."""


def load_images(seed: int, options: DataOptions) -> Dataset:
    """Noise, float32 (n, 1, 44, 44): SAMPLES a user for training, and one for testing."""
    stream, samples = generator(seed, "large request"), options.data_limit or 1_000

    def part(count: int) -> Samples:
        return Samples(torch.randn(count, 1, SIDE, SIDE, generator=stream), torch.arange(count) % CLASSES)

    return Dataset("noise", CLASSES, part(samples), part(samples // SAMPLES), part(CLASSES))


def settings(models: int, devnet: str | None) -> Settings:
    return Settings.parse(
        {
            "federation": {
                "scenario": "scripted",
                "situation": "all_hold",
                "users": models,
                "graph": graph(models),
            },
            "learning": {
                "dataset": "benchmarks.large_request:load_images",
                "data_limit": SAMPLES * models,
                "epochs": 1,
                "root_factor": 1,
            },
            "unlearning": {"starts": ("r1",), "classes": (0,)},
            "committee": {"size": 4},
            "chain": {"packaging_interval": 0} | ({"devnet": devnet} if devnet else {}),
        }
    )


def publish(models: int, folder: Path, devnet: str | None) -> None:
    """A federation of `models` models in `folder`."""
    with Federation.create(settings(models, devnet), folder) as federation:
        first = initial_weights(federation.setup.federation)
        drawn = generator(1, "large request")
        made = {}
        for number, (name, references) in enumerate(graph(models).items(), 1):
            weights = {
                key: tensor + 0.01 * torch.randn(tensor.shape, generator=drawn)
                for key, tensor in first.items()
            }
            scored = tuple(ScoredModel(each, 0.1) for each in references)
            made[name] = TrainedModel(name, number, 1, scored, weights, 0.1, TrainingSettings(epochs=1))
        federation.adopt(made)


def request(folder: Path) -> None:
    """Carries the request out in this process, and prints what it took."""
    with Federation.open(folder) as federation:
        before, began = resident("VmRSS"), perf_counter()
        unlearned = federation.unlearn()
        seconds = perf_counter() - began
    # getrusage would start with the peak of the parent process
    found = {
        "models": len(unlearned.nodes),
        "before_mb": before,
        "peak_mb": resident("VmHWM"),
        "seconds": seconds,
        "stages": dict(unlearned.seconds),
        "transactions": len(unlearned.executed),
    }
    print(json.dumps(found))


def resident(field: str) -> float:
    """MB of this process, now (VmRSS) or at most (VmHWM)."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) * 1024 / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--models", type=int, action="append", help="give it once for each size")
    parser.add_argument("--devnet", choices=("ganache", "embedded"))
    parser.add_argument("--folder", type=Path, help="the federation of this folder, in this process")
    options = parser.parse_args()
    if options.folder:
        request(options.folder)
        return
    for models in options.models or (60, 180):
        with tempfile.TemporaryDirectory() as folder:
            publish(models, Path(folder) / "run", options.devnet)
            command = [sys.executable, "-m", "benchmarks.large_request", "--folder", f"{folder}/run"]
            print(
                subprocess.run(command, check=True, capture_output=True, text=True).stdout, end="", flush=True
            )


if __name__ == "__main__":
    main()
