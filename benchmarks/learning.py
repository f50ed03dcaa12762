# SPDX-License-Identifier: Apache-2.0
"""Training of 14 users together against a plain loop over them, and the digits demo's federation both ways.

Measures also the scoring of candidates, peak memory, and the cost of learning curves.

Both sides run in turn, repeat by repeat, so that other work on the machine slows both alike.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from statistics import mean, median, stdev
from time import perf_counter, process_time
from typing import Any, Literal

import torch
from torch import Tensor

from benchmarks.instruments import replaced
from benchmarks.stored import keep
from blockful_py.learning import together, training
from blockful_py.learning.curves import Curve
from blockful_py.learning.data import Samples
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.evaluation import accuracies
from blockful_py.learning.federation import FederationSpec, train_federation
from blockful_py.learning.models import Architecture
from blockful_py.learning.partitions import Division, partition
from blockful_py.learning.streams import generator
from blockful_py.learning.together import TrainingJob, is_stacked, train_together
from blockful_py.settings import FederationSettings, TrainingSettings

CPU = torch.device("cpu")
Mode = Literal["loop", "auto"]
MODES: tuple[Mode, Mode] = ("loop", "auto")


@dataclass(frozen=True)
class Case:
    """A network, and the data and training of each of its users."""

    model: str
    shape: tuple[int, ...]
    users: int
    samples: int
    batch: int
    epochs: int
    vocabulary: int | None = None


CASES = (
    Case("cnn", (1, 8, 8), 14, 82, 32, 4),
    Case("cnn", (1, 16, 16), 14, 82, 32, 2),
    Case("cnn", (3, 32, 32), 14, 82, 32, 1),
    Case("gcnn", (32,), 4, 32, 16, 1, 500),
    Case("alexnet", (3, 32, 32), 4, 32, 16, 1),
    Case("resnet18", (3, 8, 8), 4, 8, 8, 1),
    Case("mobilenet_v2", (3, 8, 8), 4, 8, 8, 1),
)


def jobs(case: Case, architecture: Architecture, mode: Mode | Literal["stacked"]) -> list[TrainingJob]:
    """Random samples of nearly the same number for each user."""
    settings = TrainingSettings(epochs=case.epochs, batch_size=case.batch, learning_rate=0.01, together=mode)
    listed = []
    for user in range(case.users):
        drawn = generator(0, "bench", user)
        count = case.samples - user % 6 if case.samples > 60 else case.samples
        shape = (count, *case.shape)
        x = (
            torch.randn(shape, generator=drawn)
            if case.vocabulary is None
            else torch.randint(1, case.vocabulary, shape, generator=drawn)
        )
        y = torch.randint(0, 10, (count,), generator=drawn)
        weights = architecture.initial(generator(0, user))
        listed.append(TrainingJob(weights, Samples(x, y), settings, generator(1, user)))
    return listed


def compare(case: Case, repeat: int) -> dict[str, Any]:
    """Seconds of both, and the loop's over the others', in wall and in processor time."""
    architecture = Architecture(case.model, case.shape, 10, case.vocabulary)
    seconds: dict[str, list[tuple[float, float]]] = {"loop": [], "auto": []}
    for turn in range(repeat + 1):
        for mode in MODES if turn % 2 else reversed(MODES):
            given = jobs(case, architecture, mode)
            began = (perf_counter(), process_time())
            train_together(architecture, given)
            seconds[mode].append((perf_counter() - began[0], process_time() - began[1]))
    loop, auto = (each[1:] for each in seconds.values())
    return {
        "model": case.model,
        "shape": case.shape,
        "users": case.users,
        "stacked": is_stacked(architecture, TrainingSettings(), CPU),
        "loop_seconds": median(wall for wall, _ in loop),
        "auto_seconds": median(wall for wall, _ in auto),
        "ratio": median(a[0] / b[0] for a, b in zip(loop, auto, strict=True)),
        "ratio_processor": median(a[1] / b[1] for a, b in zip(loop, auto, strict=True)),
        "n": repeat,
    }


class NoTally:
    """Keeps nothing of a training."""

    def step(self, losses: Tensor, logits: Tensor, labels: Tensor) -> None:
        pass

    def curves(self, sizes: list[int], epochs: int) -> tuple[Curve, ...]:
        return tuple(Curve((), ()) for _ in sizes)


def curves(case: Case, mode: Literal["stacked", "loop"], repeat: int) -> dict[str, Any]:
    """Processor time of training with its curves over that without; they do nothing else."""
    architecture = Architecture(case.model, case.shape, 10, case.vocabulary)
    ratios = []
    for turn in range(repeat + 1):
        spent = {}
        for kept in (True, False) if turn % 2 else (False, True):
            given = jobs(case, architecture, mode)
            began = process_time()
            if kept:
                train_together(architecture, given)
            else:
                module = together if mode == "stacked" else training
                with replaced(module, "Tally", NoTally):
                    train_together(architecture, given)
            spent[kept] = process_time() - began
        ratios.append(spent[True] / spent[False])
    return {"model": case.model, "mode": mode, "with_over_without": median(ratios[1:]), "n": repeat}


def scoring(repeat: int, candidates: int = 5) -> dict[str, Any]:
    """A user's candidates on its test samples: together, and one network after the other."""
    data = load_dataset("digits", 0, CPU)
    architecture = Architecture.of("cnn", data)
    own = partition(data, Division(FederationSettings(), (5, 7), (3,)), 0)[0].test
    models = {f"r{i}": architecture.initial(generator(0, i)) for i in range(candidates)}
    ratios, agree = [], True
    for _ in range(repeat + 1):
        began = perf_counter()
        alone = {}
        for name, weights in models.items():
            with torch.inference_mode():
                found = architecture.module(weights, CPU).eval()(own.x).argmax(1)
            alone[name] = (found == own.y).double().mean().item()
        middle = perf_counter()
        together = accuracies(architecture, models, own)
        ratios.append((middle - began) / (perf_counter() - middle))
        agree = agree and alone == together
    return {
        "candidates": candidates,
        "samples": len(own),
        "ratio": median(ratios[1:]),
        "agree": agree,
        "n": repeat,
    }


def held_mb(field: str) -> float:
    """Memory as Linux states it; `getrusage` would start with the peak of the parent process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) * 1024 / 1e6


def memory(case: int, mode: Mode) -> None:
    """Peak memory of training in a process of its own, less the process's memory before it."""
    architecture = Architecture(CASES[case].model, CASES[case].shape, 10, CASES[case].vocabulary)
    given = jobs(CASES[case], architecture, mode)
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts from the current size
    before = held_mb("VmRSS")
    train_together(architecture, given)
    print(held_mb("VmHWM") - before)


def peaks(threads: int) -> list[dict[str, Any]]:
    """Peak memory of each case, looped and as chosen, in MB."""
    rows = []
    for number, case in enumerate(CASES):
        found: dict[str, float] = {
            mode: float(
                subprocess.run(
                    [sys.executable, __file__, "--memory", str(number), mode, "--threads", str(threads)],
                    check=True,
                    capture_output=True,
                ).stdout
            )
            for mode in MODES
        }
        rows.append({"model": case.model, "shape": case.shape, "users": case.users, **found})
    return rows


def digits(seeds: int) -> dict[str, Any]:
    """The demo's federation (paper14, few hold, 20 epochs): time and accuracy on the test images."""
    result: dict[str, dict[str, list[float]]] = {
        mode: {"seconds": [], "processor": [], "accuracy": []} for mode in ("loop", "auto")
    }
    for seed in range(seeds):
        data = load_dataset("digits", seed, CPU)
        users = partition(data, Division(FederationSettings(), (5, 7), (3,)), seed)
        settings = FederationSpec(Architecture.of("cnn", data), seed=seed)
        for mode in MODES if seed % 2 else reversed(MODES):
            own = replace(settings, training=replace(settings.training, together=mode))
            began = (perf_counter(), process_time())
            models = {model.name: model.weights for wave in train_federation(own, users) for model in wave}
            result[mode]["seconds"].append(perf_counter() - began[0])
            result[mode]["processor"].append(process_time() - began[1])
            result[mode]["accuracy"].append(mean(accuracies(own.architecture, models, data.test).values()))
    differences = [b - a for a, b in zip(result["loop"]["accuracy"], result["auto"]["accuracy"], strict=True)]
    means = {mode: {key: mean(each) for key, each in rows.items()} for mode, rows in result.items()}
    error = stdev(differences) / sqrt(seeds)
    return {**means, "gain": mean(differences), "standard_error": error, "n": seeds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--output", type=Path, help="write the result as JSON")
    parser.add_argument("--memory", nargs=2, metavar=("CASE", "MODE"), help="one case, in this process")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.memory:
        memory(int(options.memory[0]), options.memory[1])
        return
    rows = []
    print(f"{'':<22}{'users':>6}{'chosen':>9}{'loop s':>9}{'auto s':>9}{'ratio':>7}{'processor':>11}{'n':>4}")
    for case in CASES:
        row = compare(case, options.repeat)
        rows.append(row)
        print(
            f"{case.model + ' ' + 'x'.join(map(str, case.shape)):<22}{case.users:>6}"
            f"{'stacked' if row['stacked'] else 'loop':>9}"
            f"{row['loop_seconds']:>9.3f}{row['auto_seconds']:>9.3f}"
            f"{row['ratio']:>7.2f}{row['ratio_processor']:>11.2f}{row['n']:>4}",
            flush=True,
        )
    kept = [curves(CASES[0], mode, options.repeat) for mode in ("stacked", "loop")]
    for row in kept:
        print(f"learning curves, {row['mode']}: {100 * (row['with_over_without'] - 1):+.1f} % processor time")
    scored = scoring(20 * options.repeat)
    print(
        f"scoring {scored['candidates']} candidates on {scored['samples']} samples: "
        f"{scored['ratio']:.2f} times as fast together"
    )
    held = peaks(options.threads)
    for row in held:
        name = f"{row['model']} {'x'.join(map(str, row['shape']))}"
        print(f"peak memory, {name}: loop {row['loop']:.0f} MB, chosen {row['auto']:.0f} MB")
    demo = digits(options.seeds)
    for mode in ("loop", "auto"):
        each = demo[mode]
        print(
            f"digits, paper14, {mode}: {each['seconds']:.2f} s, {each['processor']:.2f} s of the processor, "
            f"accuracy {100 * each['accuracy']:.2f} % (means of {demo['n']} seeds)"
        )
    print(f"difference {100 * demo['gain']:+.2f} points, standard error {100 * demo['standard_error']:.2f}")
    if options.output:
        machine = {
            "platform": platform.platform(),
            "cores": os.cpu_count(),
            "threads": options.threads,
            "python": platform.python_version(),
            "torch": torch.__version__,
        }
        result = {
            "machine": machine,
            "rows": rows,
            "curves": kept,
            "scoring": scored,
            "peak_mb": held,
            "digits": demo,
        }
        keep(options.output, "learning", result)


if __name__ == "__main__":
    main()
