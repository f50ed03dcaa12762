# SPDX-License-Identifier: Apache-2.0
"""A request to a federation of models of sums, against the number of models: seconds, bytes and memory.

    python -m benchmarks.subtraction_growth [--models 100 1000 10000] [--retrained 100] [--features 64]

Models of 25 generations in files, with two references each in the generation before; their own parts are the
parts of fourteen users of the digits.  A class is struck out of all models, or client 5 leaves.  The new sums
of each model are made from the files, sealed, addressed and written, as its owner's process does; a member
does the same without writing.

Beside them the small network in the same graph: a class is forgotten at all roots, whose new weights are at
hand, and their changes are passed on; or all models are retrained, up to `--retrained` of them.  The chains'
part is not here.  Each figure is of a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from benchmarks.growth import exponent, resident
from benchmarks.stored import FIGURES, keep
from blockful_py.forget import Forget, Level
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.keys.sealing import random_keys, seal_weights
from blockful_py.learning.candidates import ScoredModel
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.device import use_threads
from blockful_py.learning.federation import TrainedModel, initial_weights
from blockful_py.learning.models import Architecture
from blockful_py.learning.partitions import Division, partition
from blockful_py.learning.sums import OWN, aggregate_sums, no_sums, with_part
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.learning.weights import Weights, from_bytes, to_bytes
from blockful_py.on_demand import OnDemand
from blockful_py.settings import DataOptions, FederationSettings, Settings
from blockful_py.unlearning.gradient_ascent import GradientAscent
from blockful_py.unlearning.recompute import recompute
from blockful_py.unlearning.retraining import retrain_model
from blockful_py.unlearning.subtract import Subtraction, subtracted
from blockful_py.unlearning.task import UnlearningTask

GENERATIONS, USERS, CLIENT, LABEL = 25, 14, 5, 3
LEVELS = {"class": Forget.of_classes([LABEL]), "client": Forget.of_clients([CLIENT])}
PASSING, RETRAINING = "passing", "retraining"
STEPS = (*LEVELS, PASSING, RETRAINING)
SETTINGS = Settings.parse({"seed": 5, "federation": {"situation": "all_hold"}})


def graph_of(models: int) -> InheritanceGraph:
    """Models m0, m1, ... in generations of equal size."""
    width = models // GENERATIONS
    return InheritanceGraph.from_references(
        {
            f"m{number}": [f"m{(number // width - 1) * width + (number + each) % width}" for each in range(2)]
            if number >= width
            else []
            for number in range(models)
        }
    )


def user_of(name: str) -> int:
    return 1 + int(name[1:]) % USERS


def make(folder: Path, models: int, features: int) -> None:
    """Writes the files of all models."""
    data = load_dataset("digits", 5, torch.device("cpu"), DataOptions())
    scenario = FederationSettings("paper14", "all_hold")
    users = partition(data, Division(scenario, (5, 7), (LABEL,)), 5)
    architecture = Architecture.of("analytic", data, {"features": features})
    empty: Weights = no_sums(data.class_count, (features + 1) * (features + 2) // 2)
    sums = architecture.sums(empty)
    parts = {user.index: sums.learned(user.train)[OWN].numpy() for user in users}
    graph = graph_of(models)
    before: dict[str, Weights] = {}
    for wave in graph.waves(graph.names):
        made: dict[str, Weights] = {}
        for name in wave:
            above = [before[each] for each in graph.references(name)]
            made[name] = with_part(aggregate_sums(above) if above else empty, parts[user_of(name)])
            (folder / name).write_bytes(to_bytes(made[name]))
        before = made


def make_networks(folder: Path, models: int) -> None:
    """Writes the files of as many small networks: the shared initialisation, and noise."""
    setup = TrainingSetup.of(SETTINGS)
    stream, first = torch.Generator().manual_seed(5), initial_weights(setup.federation)
    for name in graph_of(models).names:
        made = {each: w + 0.1 * torch.randn(w.shape, generator=stream) for each, w in first.items()}
        (folder / name).write_bytes(to_bytes(made))


def carry_out(folder: Path, models: int, step: str) -> dict[str, float]:
    """One request, in this process."""
    graph = graph_of(models)
    old = OnDemand(graph.names, lambda name: from_bytes((folder / name).read_bytes()))
    make = {PASSING: passed, RETRAINING: retrained}.get(step)
    setup = TrainingSetup.of(SETTINGS)
    began, spent, size = perf_counter(), process_time(), 0
    new = make(graph, old, setup) if make else made_of_sums(graph, old, LEVELS[step])
    for weights in new.values():
        sealed = seal_weights(weights, random_keys)
        with (folder / "sealed").open("wb") as file:
            size += sum(map(file.write, sealed.pieces()))
    return {
        "affected": len(new),
        "seconds": perf_counter() - began,
        "processor": process_time() - spent,
        "bytes": size,
        "peak_mb": resident("VmHWM"),
    }


def made_of_sums(
    graph: InheritanceGraph, old: Mapping[str, Weights], forget: Forget
) -> Mapping[str, Weights]:
    owners = {name: user_of(name) for name in graph.names}
    by_client = forget.level is Level.CLIENT
    starts = [
        name for name in graph.names if (owners[name] == CLIENT if by_client else not graph.references(name))
    ]
    affected = {*starts, *graph.descendants(starts)}
    names = [name for name in graph.topological_order() if name in affected]
    return subtracted(Subtraction(forget, graph, owners, tuple(starts)), names, old, {})


def passed(
    graph: InheritanceGraph, old: Mapping[str, Weights], setup: TrainingSetup
) -> Mapping[str, Weights]:
    """Descendants of the roots, whose owners' new weights are the next model's here."""
    roots = [name for name in graph.names if not graph.references(name)]
    announced = {name: old[f"m{len(roots) + i}"] for i, name in enumerate(roots)}
    return recompute(GradientAscent(), graph, roots, old, announced)


def retrained(
    graph: InheritanceGraph, old: Mapping[str, Weights], setup: TrainingSetup
) -> Mapping[str, Weights]:
    models = [
        TrainedModel(
            name,
            user_of(name),
            1,
            tuple(ScoredModel(each, 0.1) for each in graph.references(name)),
            old[name],
            0.1,
            setup.federation.training,
        )
        for name in graph.names
    ]
    roots = [model.name for model in models if not model.references]
    task = UnlearningTask.of(setup.federation, models, setup.users, roots, LEVELS["class"])
    new: dict[str, Weights] = {}
    for name in graph.topological_order():
        new[name] = retrain_model(task, name, new)
    return new


def measure(models: int, features: int, most: int) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), models, features)
        rows = []
        for level in STEPS:
            if level == PASSING:
                make_networks(Path(folder), models)
            if level == RETRAINING and models > most:
                continue
            words = ("--step", level, "--folder", folder, "--models", str(models))
            command = [sys.executable, "-m", "benchmarks.subtraction_growth", *words]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            rows.append({"models": models, "features": features, "level": level, **json.loads(done.stdout)})
            print(told(rows[-1]), flush=True)
    return rows


def told(row: dict[str, Any]) -> str:
    milliseconds = 1e3 * row["processor"] / row["affected"]
    return (
        f"{row['models']:>7} {row['level']:11}{row['affected']:>7}{row['seconds']:>9.1f}"
        f"{row['processor']:>11.1f}{milliseconds:>13.1f}{row['bytes'] / 1e6:>10.0f}{row['peak_mb']:>9.0f}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--models", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--retrained", type=int, default=100, help="most models to retrain (default 100)")
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--output", type=Path, default=FIGURES)
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    use_threads(1)
    if given.step:
        print(json.dumps(carry_out(given.folder, given.models[0], given.step)))
        return
    print(
        f"{'models':>7} {'level':11}{'new':>7}{'s':>9}{'core, s':>11}{'ms, each':>13}{'MB':>10}{'most MB':>9}"
    )
    rows = [row for models in given.models for row in measure(models, given.features, given.retrained)]
    for level in STEPS:
        points = [(row["affected"], row["processor"]) for row in rows if row["level"] == level]
        if len(points) > 1:
            print(f"{level}: exponent {exponent(points):.2f}")
    keep(given.output, "subtraction_growth", rows)


if __name__ == "__main__":
    main()
