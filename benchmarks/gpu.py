# SPDX-License-Identifier: Apache-2.0
"""Trainings on a card, in one command: `python -m benchmarks.gpu --output gpu.json`.

Small networks, which do not fill the card, step by step, captured and side by side, with their bits compared;
the accuracy of each precision; and a network that fills the card, with shares of its peak
(`benchmarks.learning_device`).  On a CPU the first two run alone, and no step is captured.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from time import perf_counter
from typing import Any
from unittest.mock import patch

import torch

from benchmarks import learning_device
from benchmarks.federation_device import machine
from benchmarks.stored import keep
from blockful_py.learning import gradient_steps, together
from blockful_py.learning.data import Samples
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.device import resolve_device, use_repeatable_kernels
from blockful_py.learning.evaluation import accuracy
from blockful_py.learning.models import Architecture
from blockful_py.learning.streams import generator
from blockful_py.learning.together import TrainingJob, fit_side_by_side
from blockful_py.learning.training import Fitted, fit
from blockful_py.learning.weights import equal
from blockful_py.settings import TrainingSettings

LANES = (2, 4, 8, 14)


@dataclass(frozen=True)
class Case:
    """A wave of users that train one network.

    Attributes:
        samples: of the first user; each next one has one more, so that batches differ.
    """

    model: str
    shape: tuple[int, ...]
    samples: int
    epochs: int
    batch: int = 32
    models: int = 14


CASES = (
    Case("cnn", (1, 8, 8), 76, 20),
    Case("cnn", (1, 32, 32), 100, 5),
    Case("mlp", (1, 8, 8), 400, 5),
    Case("alexnet", (1, 32, 32), 200, 3),
    Case("resnet18", (3, 32, 32), 400, 3, models=8),
    Case("mobilenet_v2", (3, 32, 32), 400, 3, models=8),
    Case("resnet18", (3, 32, 32), 2048, 5, batch=512, models=4),
)


def wave(case: Case, architecture: Architecture, device: torch.device) -> list[TrainingJob]:
    """The jobs of a case, with fresh streams."""
    settings = TrainingSettings(
        epochs=case.epochs, batch_size=case.batch, learning_rate=0.02, together="loop"
    )
    jobs = []
    for user in range(case.models):
        drawn = generator(user, "bench")
        x = torch.rand((case.samples + user, *case.shape), generator=drawn)
        y = torch.randint(0, architecture.class_count, (case.samples + user,), generator=drawn)
        start = architecture.initial(generator(0))
        jobs.append(TrainingJob(start, Samples(x, y).to(device), settings, generator(9, user)))
    return jobs


def one_by_one(architecture: Architecture, jobs: Sequence[TrainingJob]) -> Sequence[Fitted]:
    return [fit(architecture, each.weights, each.samples, each.settings, each.stream) for each in jobs]


def measure(case: Case, device: torch.device, repeat: int) -> dict[str, Any]:
    """Milliseconds a step in each way, of the best repetition, and whether all ways have the same bits."""
    architecture = Architecture(case.model, case.shape, 10)
    steps = sum(case.epochs * -(-len(job.samples) // case.batch) for job in wave(case, architecture, device))
    first: list[Fitted] = []
    row: dict[str, Any] = {"case": str(case), "same_bits": True, "captured": 0, "milliseconds": {}, "MiB": {}}

    def timed(way: str, work: Callable[[Architecture, Sequence[TrainingJob]], Sequence[Fitted]]) -> None:
        seconds = []
        if device.type == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats(device)
        for _ in range(repeat + 1):
            jobs = wave(case, architecture, device)
            began = perf_counter()
            fitted = list(work(architecture, jobs))  # ends with copies to the CPU, which wait for the card
            seconds.append(perf_counter() - began)
            first.extend(fitted[len(first) :])
            row["same_bits"] &= all(
                equal(one.weights, other.weights) and one.curve == other.curve
                for one, other in zip(fitted, first, strict=True)
            )
        row["milliseconds"][way] = round(1000 * min(seconds[1:]) / steps, 3)
        if device.type == "cuda":
            row["MiB"][way] = torch.cuda.max_memory_reserved(device) >> 20

    recorded = gradient_steps.CapturedSteps._directed_and_captured

    def counting(self: gradient_steps.CapturedSteps, rows: torch.Tensor) -> gradient_steps.Taken:
        taken = recorded(self, rows)
        row["captured"] += self._graphs[len(rows)] is not None
        return taken

    with patch.object(gradient_steps, "captures", lambda *_: False):
        timed("step by step", one_by_one)
    if device.type == "cuda":
        with patch.object(gradient_steps.CapturedSteps, "_directed_and_captured", counting):
            timed("captured", one_by_one)
    for lanes in (each for each in LANES if each <= case.models):
        with patch.object(together, "LANES", lanes):
            timed(f"{lanes} side by side", fit_side_by_side)
    return row


def accuracies(device: torch.device, seeds: int) -> dict[str, list[float]]:
    """Accuracy on the digits' test images of the small network, by precision, a seed each."""
    data = load_dataset("digits", 0, device)
    architecture = Architecture.of("cnn", data)
    plain = TrainingSettings(epochs=5, together="loop")
    return {
        precision: [
            round(
                accuracy(
                    architecture, fit(*_start(architecture, data.train, settings, seed)).weights, data.test
                ),
                4,
            )
            for seed in range(seeds)
        ]
        for precision in ("float32", "tf32", "bfloat16")
        for settings in [replace(plain, precision=precision)]
    }


def _start(architecture: Architecture, samples: Samples, settings: TrainingSettings, seed: int) -> Any:
    return architecture, architecture.initial(generator(seed)), samples, settings, generator(seed, "train")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--case", type=int, action="append", choices=range(len(CASES)))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--output", type=Path, help="write the results as JSON")
    options = parser.parse_args()
    device = resolve_device(options.device)
    use_repeatable_kernels(device)
    result: dict[str, Any] = {"machine": machine(device), "cases": []}
    print(result["machine"], flush=True)
    for number in options.case or range(len(CASES)):
        row = measure(CASES[number], device, options.repeat)
        result["cases"].append(row)
        print(row, flush=True)
    result["accuracy"] = accuracies(device, options.seeds)
    for precision, found in result["accuracy"].items():
        print(
            f"accuracy in {precision}: {mean(found):.4f} ({min(found):.4f} to {max(found):.4f})", flush=True
        )
    if options.output:
        keep(options.output, "gpu", result)
    if device.type == "cuda":
        learning_device.main(["--device", options.device])


if __name__ == "__main__":
    main()
