# SPDX-License-Identifier: Apache-2.0
"""A federation of `paper14` on the CPU and on a GPU, in turn.

Measures its training, a request by each built-in method, and scoring; whether each side repeats its own bits,
the distance of both sides, and the GPU's memory.

Torch is set up as runs set it up.  Images of 32x32 are `shapes` at twice their side.  The largest networks,
and one of the small ones, get three methods only, to save CPU time.
"""

from __future__ import annotations

import argparse
import os
import platform
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from itertools import groupby
from math import sqrt
from multiprocessing import get_context
from pathlib import Path
from statistics import mean
from typing import Any

import torch

from benchmarks.federation_device_side import CPU, Case, Side
from benchmarks.federation_device_table import markdown
from benchmarks.stored import keep
from blockful_py.learning.device import resolve_device, use_repeatable_kernels
from blockful_py.learning.federation import initial_weights
from blockful_py.learning.stacked import FORMS
from blockful_py.learning.training_setup import set_torch_up
from blockful_py.learning.weights import flatten

CANDIDATES = ("r1", "r5", "r8", "r11", "r14")
FEW = ("gradient_ascent", "retrain", "retrain_ahead")

CASES = (
    Case("cnn", 8, None, 20, 0.1, 300, threads=1),
    Case("cnn", 16, 700, 5, 0.05, 5000, threads=1, methods=FEW),
    Case("cnn", 32, 1400, 5, 0.05, 5000),
    Case("alexnet", 32, 900, 3, 0.05, 2000),
    Case("resnet18", 32, 900, 1, 0.05, 500, methods=FEW),
    Case("mobilenet_v2", 32, 900, 1, 0.05, 500, methods=FEW),
)


def measure(case: Case, device: torch.device, repeat: int) -> dict[str, Any]:
    """All sides in turn, piece of work by piece of work."""
    set_torch_up(case.model, CPU, 1)
    use_repeatable_kernels(device)
    cpu, gpu = Side(case, CPU), Side(case, device)
    asked = {"cpu": cpu, "gpu": gpu}
    sides = {**asked, "gpu, stacked": Side(case, device, "stacked")} if case.model in FORMS else asked
    for side in sides.values():
        side.warm_up()
    for turn in range(repeat):
        order = 1 if turn % 2 else -1
        for side in list(sides.values())[::order]:
            side.train()
        for name in case.methods:
            for side in list(asked.values())[::order]:
                side.ask(name)
        for side in list(sides.values())[::order]:
            side.score({name: cpu.training.weights[name] for name in CANDIDATES})
    architecture, held_out = gpu.spec.architecture, gpu.data.test
    return {
        **asdict(case),
        "input": list(gpu.data.input_shape),
        "samples": sum(len(user.train) for user in gpu.users),
        "threads": cpu.threads,
        "sides": {
            name: {
                "training": side.training.told(architecture, held_out),
                "requests": {key: runs.told(architecture, held_out) for key, runs in side.requests.items()},
                "images_a_second": side.images_a_second,
                "distance": float(f"{distance(cpu, side):.3g}"),
                "differ": differ(cpu, side),
            }
            for name, side in sides.items()
        },
        "predictions": len(CANDIDATES) * len(gpu.scored),
        "memory": gpu.memory() if device.type == "cuda" else {},
    }


def distance(left: Side, right: Side) -> float:
    """Distance `|w' - w| / |w - w_0|`, the root mean square over the trained models."""
    start = flatten(initial_weights(left.spec))
    shares = []
    for name, weights in left.training.weights.items():
        w, other = flatten(weights), flatten(right.training.weights[name])
        shares.append(float(((other - w) ** 2).sum() / ((w - start) ** 2).sum()))
    return sqrt(mean(shares))


def differ(left: Side, right: Side) -> int:
    """Predictions of the same weights that are right on one side alone."""
    return sum(int((left.right[name] != right.right[name]).sum()) for name in CANDIDATES)


def machine(device: torch.device) -> dict[str, Any]:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "gpu": torch.cuda.get_device_name(device) if device.type == "cuda" else "none",
        "processor": named[0] if named else platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cudnn": torch.backends.cudnn.version(),  # type: ignore[no-untyped-call]
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--case", action="append", choices=[case.name for case in CASES])
    parser.add_argument("--device", default="auto", help="beside the CPU")
    parser.add_argument("--output", type=Path, help="write the result as JSON, and its tables as Markdown")
    options = parser.parse_args()
    device = resolve_device(options.device)
    rows: list[dict[str, Any]] = []
    wanted = [case for case in CASES if options.case is None or case.name in options.case]
    for _, cases in groupby(wanted, lambda case: case.model in FORMS):  # a process has one mode of MKL
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            told = {"repeat": options.repeat, "machine": process.submit(machine, device).result()}
            for case in cases:
                rows.append(process.submit(measure, case, device, options.repeat).result())
                print(markdown({**told, "cases": rows[-1:]}), flush=True)
                if options.output:
                    result = {**told, "cases": rows}
                    keep(options.output, "federation_device", result, markdown(result))


if __name__ == "__main__":
    main()
