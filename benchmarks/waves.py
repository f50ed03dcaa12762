# SPDX-License-Identifier: Apache-2.0
"""Seconds to train and publish the digits demo's federation, 14 models in seven waves.

    python -m benchmarks.waves [--epochs 20] [--repeats 3] [--devnet anvil] [--block-time 0]

Four members in this process.  By the clock: in all, and of training and publishing, which overlap.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks.chains import add_options, chains
from blockful_py.pipeline.federation import Federation
from blockful_py.settings import Settings


def measure(epochs: int, devnet: str, block_time: int) -> dict[str, float]:
    settings = Settings.parse({"learning": {"epochs": epochs}, "chain": {"packaging_interval": 0}})
    with (
        tempfile.TemporaryDirectory() as folder,
        chains(devnet, block_time, Path(folder) / "chains") as nodes,
        Federation.create(settings, Path(folder) / "run", nodes=nodes) as federation,
    ):
        begun = perf_counter()
        federation.train()
        whole = perf_counter() - begun
        assert len(federation.catalogue().models) == 14
        return {**federation.stopwatch.seconds, "in all": whole}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--epochs", type=int, default=20, help="of each training (default 20)")
    parser.add_argument("--repeats", type=int, default=3, help="federations (default 3; median)")
    add_options(parser, "anvil")
    options = parser.parse_args()
    runs = [measure(options.epochs, options.devnet, options.block_time) for _ in range(options.repeats)]
    print(
        f"{options.devnet}, block time {options.block_time}, {options.epochs} epochs (s: median, least, most)"
    )
    for stage in runs[0]:
        found = [run[stage] for run in runs]
        print(f"  {stage:10}{median(found):10.2f}{min(found):10.2f}{max(found):10.2f}")


if __name__ == "__main__":
    main()
