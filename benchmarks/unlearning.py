# SPDX-License-Identifier: Apache-2.0
"""What a parallel request takes, with increments made, stored and not needed, against sequential
retraining: CPU time of one thread, which is the wall time on a core of its own, and sample passes.  And
what storing increments costs when models are published, against training without."""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import torch

from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.federation import FederationSettings, train_federation
from blockful_py.learning.models import Architecture
from blockful_py.learning.partitions import Division, partition
from blockful_py.learning.scenario import ScenarioSettings
from blockful_py.learning.training import TrainingSettings
from blockful_py.unlearning.clean_increments import CleanIncrements
from blockful_py.unlearning.forget import Forget
from blockful_py.unlearning.gradient_ascent import GradientAscent
from blockful_py.unlearning.method import Method, Outcome
from blockful_py.unlearning.retrain import Retrain
from blockful_py.unlearning.retraining import passes_of
from blockful_py.unlearning.stored_increments import store_increments
from blockful_py.unlearning.task import UnlearningTask

HOLDERS = (5, 7)
CLASSES = (3,)

GRAPHS = {
    "14 users, 28 models": ScenarioSettings("organic", users=14, rounds=2),
    "20 users, 100 models": ScenarioSettings("organic", users=20, rounds=5),
}

METHODS: dict[str, Callable[[], Method]] = {
    "sequential retraining": Retrain,
    "passing, no increments": GradientAscent,
    "increments made": CleanIncrements,
    "increments stored": CleanIncrements,
}
STORED = "increments stored"


@dataclass(frozen=True)
class Trained:
    """A federation that is to forget a class, and what its training took in sample passes and CPU seconds:
    `more` is what increments of that class took on top."""

    task: UnlearningTask
    stored: UnlearningTask
    passes: int
    more_passes: int
    seconds: float
    more_seconds: float

    def cost(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in ("passes", "more_passes", "seconds", "more_seconds")}


def trained(scenario: ScenarioSettings, situation: str, seed: int) -> Trained:
    data = load_dataset("digits", seed, torch.device("cpu"))
    users = partition(situation, data, Division(scenario.users, HOLDERS, CLASSES), seed)
    settings = FederationSettings(
        Architecture("cnn", data.input_shape, data.class_count),
        scenario,
        TrainingSettings(epochs=10, rate=0.05),
        seed=seed,
    )
    began = process_time()
    models = [model for wave in train_federation(settings, users) for model in wave]
    done = process_time()
    stored = store_increments(settings, models, users, CLASSES)[CLASSES[0]]
    kept = process_time()
    starts = [
        model.name
        for model in models
        if model.user in HOLDERS and (situation == "few_hold" or model.round == 1)
    ]
    task = UnlearningTask.of(settings, models, users, starts, Forget.of_classes(CLASSES))
    return Trained(
        task,
        replace(task, stored=stored),
        sum(model.training.epochs * len(users[model.user - 1].train) for model in models),
        sum(passes_of(task, name) for name in stored),
        done - began,
        kept - done,
    )


def measure(federation: Trained, repeats: int) -> dict[str, dict[str, Any]]:
    """Methods in turn, so that a busy machine slows all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in METHODS}
    outcomes: dict[str, Outcome] = {}
    for _ in range(repeats):
        for name, method in METHODS.items():
            task = federation.stored if name == STORED else federation.task
            began = process_time()
            outcomes[name] = method().unlearn(task)
            seconds[name].append(process_time() - began)
    return {
        name: {"models": len(outcomes[name].weights), "seconds": times, **asdict(outcomes[name].cost)}
        for name, times in seconds.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--output", type=Path, help="write the result as JSON")
    options = parser.parse_args()
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
            cost = federation.cost()
            more = [
                f"{100 * cost[f'more_{part}'] / cost[part]:.0f} % {part}" for part in ("passes", "seconds")
            ]
            print(
                f"{f'{graph}, {situation}, training with increments':<60} + {', + '.join(more)}", flush=True
            )
            trainings.append({"graph": graph, "situation": situation, **cost})
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
        options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
