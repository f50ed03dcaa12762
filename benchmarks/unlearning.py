# SPDX-License-Identifier: Apache-2.0
"""The cost of a parallel request against sequential retraining, by method and stored increments.

CPU time of one thread, which is the wall time on an idle core, and sample passes.  Methods take increments
made, stored and not needed, a line made and stored, and models retrained ahead.  The cost of storing at
publication is
compared with training without it.  The federations are trained as long as in the audit.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import torch

from benchmarks.stored import keep, load
from blockful_lab.experiments.protocol import RATE, recipe_of
from blockful_lab.experiments.variants import STORES
from blockful_py.forget import Forget
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.federation import FederationSpec, train_federation
from blockful_py.learning.models import Architecture
from blockful_py.learning.partitions import Division, partition
from blockful_py.settings import FederationSettings, Situation, TrainingSettings
from blockful_py.unlearning.clean_increments import CleanIncrements
from blockful_py.unlearning.clean_line import CleanLine
from blockful_py.unlearning.gradient_ascent import GradientAscent
from blockful_py.unlearning.line import models_on_line, training_phases
from blockful_py.unlearning.method import Method, Outcome
from blockful_py.unlearning.retrain import Retrain
from blockful_py.unlearning.retrain_ahead import RetrainAhead
from blockful_py.unlearning.retraining import passes_of
from blockful_py.unlearning.task import UnlearningTask

HOLDERS = (5, 7)
CLASSES = (3,)

GRAPHS = {
    "14 users, 28 models": FederationSettings("organic", users=14, rounds=2),
    "20 users, 100 models": FederationSettings("organic", users=20, rounds=5),
}

LINE = "line"
"""Entries of `STORES` that belong to the federation, not to its models."""

METHODS: dict[str, tuple[Callable[[], Method], str | None]] = {
    "sequential retraining": (Retrain, None),
    "passing, no increments": (GradientAscent, None),
    "increments made": (CleanIncrements, None),
    "increments stored": (CleanIncrements, "increments"),
    "line made": (CleanLine, None),
    "line stored": (CleanLine, LINE),
    "retrained ahead": (RetrainAhead, "clean models"),
}
"""A method, and its increments stored at publication."""


@dataclass(frozen=True)
class Spent:
    """Sample passes and CPU seconds."""

    passes: int
    seconds: float


@dataclass(frozen=True)
class Trained:
    """A federation that is to forget a class.

    Attributes:
        stored: the task by the name of its stored increments; None: without.
        training: its cost.
        more: extra cost of storing, by the name of the increments.
        epochs: of a model with references.
    """

    stored: dict[str | None, UnlearningTask]
    training: Spent
    more: dict[str, Spent]
    epochs: int


def trained(scenario: FederationSettings, situation: Situation, seed: int) -> Trained:
    data = load_dataset("digits", seed, torch.device("cpu"))
    federation = replace(scenario, situation=situation)
    users = partition(data, Division(federation, HOLDERS, CLASSES), seed)
    settings = FederationSpec(
        Architecture("cnn", data.input_shape, data.class_count),
        federation,
        TrainingSettings(epochs=1, learning_rate=RATE),
        seed=seed,
        starting_users=HOLDERS,
    )
    recipe = recipe_of(settings, data)
    settings = replace(settings, training=replace(settings.training, epochs=recipe.epochs))
    began = process_time()
    models = [model for wave in train_federation(settings, users) for model in wave]
    training = Spent(
        sum(model.training.epochs * len(users[model.user - 1].train) for model in models),
        process_time() - began,
    )
    starts = [
        model.name
        for model in models
        if model.user in HOLDERS and (situation == "few_hold" or model.round == 1)
    ]
    task = UnlearningTask.of(settings, models, users, starts, Forget.of_classes(CLASSES))
    tasks: dict[str | None, UnlearningTask] = {None: task}
    more: dict[str, Spent] = {}
    for kind, store in STORES.items():
        began = process_time()
        stored = store(settings, models, users, task.forget)
        seconds = process_time() - began
        more[kind] = Spent(line_passes(task) if kind == LINE else passes(task, stored), seconds)
        tasks[kind] = replace(task, stored=stored)
    return Trained(tasks, training, more, recipe.epochs)


def passes(task: UnlearningTask, names: Iterable[str]) -> int:
    return sum(passes_of(task, name) for name in names)


def line_passes(task: UnlearningTask) -> int:
    names = models_on_line(task)
    first, _, _ = training_phases(task, names)
    return sum(first.samples(task, name) for name in names)


def measure(federation: Trained, repeats: int) -> dict[str, dict[str, Any]]:
    """Methods in turn, so that a busy machine slows all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in METHODS}
    outcomes: dict[str, Outcome] = {}
    for _ in range(repeats):
        for name, (method, kind) in METHODS.items():
            task = federation.stored[kind]
            began = process_time()
            outcomes[name] = method().unlearn(task)
            dict(outcomes[name].weights)  # passing computes them when they are asked for
            seconds[name].append(process_time() - began)
    return {
        name: {"models": len(outcomes[name].weights), "seconds": times, **asdict(outcomes[name].cost)}
        for name, times in seconds.items()
    }


HEAD = ("graph", "situation", "models", "method", "CPU s (%)", "passes (%)", "longest path (%)", "prepared")
STORING_HEAD = ("graph", "situation", "stored", "passes, % more", "CPU s, % more")


def markdown(result: dict[str, Any]) -> str:
    """Renders the cost of requests, in % of sequential retraining, and of storing, in % of training."""
    machine = result["machine"]
    lines = ["# What a request takes", "", "`python -m benchmarks.unlearning --output FILE`", ""]
    lines += [
        f"Digits, seed {result['seed']}, {_epochs(result)} epochs, CPU time of {machine['threads']} "
        f"thread, median of {result['repeats']}, {machine['cores']} cores, Python {machine['python']}, torch "
        f"{machine['torch']}. Percent are of sequential retraining of the same models; prepared: passes when "
        "models were published.",
        "",
        *_row(HEAD, head=True),
    ]
    base: dict[str, Any] = {}
    for case in result["cases"]:
        base = case if case["method"] == "sequential retraining" else base
        seconds, whole = median(case["seconds"]), median(base["seconds"])
        shares = [
            f"{case[part]:,.0f} ({100 * case[part] / base[part]:.0f})" for part in ("passes", "critical_path")
        ]
        first = (case["graph"], case["situation"].replace("_", " "), str(case["models"]), case["method"])
        took = f"{seconds:.2f} ({100 * seconds / whole:.0f})"
        lines += _row((*first, took, *shares, f"{case['prepared']:,.0f}"))
    lines += ["", "## What storing for one class adds to training (n = 1 each)", ""]
    lines += _row(STORING_HEAD, head=True)
    for training in result["training"]:
        whole = training["training"]
        for kind in STORES:
            more = [f"{100 * training[kind][part] / whole[part]:.0f}" for part in ("passes", "seconds")]
            lines += _row((training["graph"], training["situation"].replace("_", " "), kind, *more))
    return "\n".join([*lines, ""])


def _epochs(result: dict[str, Any]) -> str:
    return " or ".join(str(each) for each in sorted({one["epochs"] for one in result["training"]}))


def _row(cells: tuple[str, ...], head: bool = False) -> list[str]:
    return [f"| {' | '.join(cells)} |"] + ["|" + "---|" * len(cells)] * head


def write(result: dict[str, Any], path: Path) -> None:
    """Stores the result at `path`, and its tables beside it."""
    keep(path, "unlearning", result, markdown(result))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--output", type=Path, help="write the result as JSON, and its tables as Markdown")
    parser.add_argument("--render-only", action="store_true", help="measure nothing: the tables of --output")
    options = parser.parse_args()
    if options.render_only:
        write(load(options.output, "unlearning"), options.output)
        return
    torch.set_num_threads(1)
    cases: list[dict[str, Any]] = []
    trainings: list[dict[str, Any]] = []
    heads = ("models", "s (median)", "% of seq.", "passes", "% of seq.", "path", "% of seq.", "prepared")
    print(f"{'':<60}" + "".join(f"{head:>12}" for head in heads))
    for graph, scenario in GRAPHS.items():
        for situation in ("few_hold", "all_hold"):
            federation = trained(scenario, situation, options.seed)
            found = measure(federation, options.repeats)
            base = found["sequential retraining"]
            for name, row in found.items():
                time, whole = median(row["seconds"]), median(base["seconds"])
                shares = [(row[part], base[part]) for part in ("passes", "critical_path")]
                cells = "".join(f"{value:>12.0f}{100 * value / of:>12.1f}" for value, of in shares)
                print(
                    f"{f'{graph}, {situation}, {name}':<60}{row['models']:>12}"
                    f"{time:>12.2f}{100 * time / whole:>12.1f}{cells}{row['prepared']:>12.0f}",
                    flush=True,
                )
                cases.append({"graph": graph, "situation": situation, "method": name, **row})
            for kind, more in federation.more.items():
                added = [
                    f"{100 * more.passes / federation.training.passes:.0f} % passes",
                    f"{100 * more.seconds / federation.training.seconds:.0f} % seconds",
                ]
                print(
                    f"{f'{graph}, {situation}, training with {kind}':<60} + {', + '.join(added)}", flush=True
                )
            of: dict[str, Any] = {"epochs": federation.epochs, "training": asdict(federation.training)}
            of |= {kind: asdict(more) for kind, more in federation.more.items()}
            trainings.append({"graph": graph, "situation": situation, **of})
    if options.output:
        machine = {
            "system": platform.system(),
            "cores": os.cpu_count(),
            "threads": 1,
            "python": platform.python_version(),
            "torch": torch.__version__,
        }
        result = {
            "seed": options.seed,
            "repeats": options.repeats,
            "machine": machine,
            "training": trainings,
            "cases": cases,
        }
        write(result, options.output)


if __name__ == "__main__":
    main()
