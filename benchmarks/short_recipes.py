# SPDX-License-Identifier: Apache-2.0
"""Accuracy of models that are retrained, with the ancestors the data reached, for a quarter of the passes.

    python -m benchmarks.short_recipes [--data digits --data shapes] [--seeds 5-9]
        [--recipe quarter] [--rows build/short_recipes] [--output benchmarks/results/figures.jsonl]

A request for a class is carried out as by `retrain_ahead` without stored clean models, but by other recipes
than the published ones: fewer epochs, smaller batches, lower rates.  The federations are made as for
`experiment audit`.  A cell has a file in the folder of rows; a rerun measures the missing ones.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import mean
from types import MappingProxyType
from typing import Any

import numpy as np

from benchmarks.stored import FIGURES, keep
from blockful_lab.experiments.machine import THREADS
from blockful_lab.experiments.protocol import EMBEDDED, SITUATIONS, Cell, PreparedCell, prepare
from blockful_lab.experiments.seeds import parse_seeds
from blockful_py.forget import Level
from blockful_py.learning.device import use_threads
from blockful_py.learning.evaluation import accuracies
from blockful_py.learning.streams import generator
from blockful_py.learning.together import TrainingJob, train_together
from blockful_py.learning.weights import Weights
from blockful_py.settings import TrainingSettings
from blockful_py.types import References
from blockful_py.unlearning.audit.references import GOLD_SHIFT, retrained_graph
from blockful_py.unlearning.chosen_again import references_of
from blockful_py.unlearning.retrain_ahead import reached
from blockful_py.unlearning.retraining import aggregate_of, passes_of
from blockful_py.unlearning.task import UnlearningTask

NAME = "short_recipes"
STREAM = "relay"
"""Purpose of the streams that shuffle the samples."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """A training's settings as shares of the published ones; `root`: epochs of models without references."""

    epochs: float
    root: float
    batch: float
    rate: float

    def of(self, training: TrainingSettings, is_root: bool) -> TrainingSettings:
        share = self.root if is_root else self.epochs
        return replace(
            training,
            epochs=max(1, round(share * training.epochs)),
            batch_size=max(1, round(self.batch * training.batch_size)),
            learning_rate=self.rate * training.learning_rate,
        )


RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        "quarter": Recipe(1 / 4, 1 / 4, 1, 1),
        "smaller": Recipe(1 / 4, 1 / 4, 1 / 4, 1 / 2),
        "smallest": Recipe(1 / 4, 1 / 4, 1 / 8, 8**-0.5),
        "roots": Recipe(0.22, 1 / 3, 1 / 8, 8**-0.5),
    }
)


def measure(cell: Cell, names: Iterable[str]) -> dict[str, Any]:
    """Gold's mean accuracy on the rest, and the figures of these recipes."""
    prepared = prepare(cell)
    task = prepared.task
    gold = _on_the_rest(prepared, retrained_graph(task, GOLD_SHIFT))
    full = sum(passes_of(task, name) for name in task.reached())
    return {
        "data": cell.data,
        "situation": cell.situation,
        "seed": cell.seed,
        "affected": len(gold),
        "gold": mean(gold.values()),
        "recipes": {name: _figures(prepared, RECIPES[name], gold, full) for name in names},
    }


def _figures(
    prepared: PreparedCell, recipe: Recipe, gold: Mapping[str, float], full: int
) -> dict[str, float]:
    """Accuracy on the rest less gold's, mean and worst 5 %; the highest AD_f; passes as a share of gold's."""
    task = prepared.task
    made, passes = relay(task, recipe)
    rest = _on_the_rest(prepared, made)
    less = [rest[name] - gold[name] for name in rest]
    known = accuracies(task.architecture, made, prepared.data.test.only(task.classes))
    return {
        "ad_r": mean(less),
        "worst": float(np.percentile(less, 5)),
        "ad_f": max(known.values()),
        "passes": passes / full,
    }


def _on_the_rest(prepared: PreparedCell, weights: Mapping[str, Weights]) -> dict[str, float]:
    task = prepared.task
    return accuracies(task.architecture, weights, prepared.data.test.without(task.classes))


def relay(task: UnlearningTask, recipe: Recipe) -> tuple[dict[str, Weights], int]:
    """The affected models, trained along their reached ancestors without the data; and all sample passes."""
    clean: dict[str, Weights] = {}
    passes = 0
    for wave in task.graph.waves(reached(references_of(task, References.KEPT))):
        jobs = []
        for name in wave:
            model, kept = task.models[name], task.retained(name)
            phi = recipe.of(model.training, not task.references(name))
            stream = generator(task.seed, STREAM, model.user, model.round)
            jobs.append(TrainingJob(aggregate_of(task, name, clean), kept, phi, stream))
            passes += phi.epochs * len(kept)
        clean.update(zip(wave, train_together(task.architecture, jobs), strict=True))
    return {name: clean[name] for name in task.affected()}, passes


def render(rows: list[dict[str, Any]]) -> str:
    """The page of the table."""
    lines = [
        "# Retraining by short recipes",
        "",
        "Made by `python -m benchmarks.short_recipes`: requests for a class, 14 users, 28 models. AD_r less "
        "gold's in points: mean over seeds (least and most); the 5 % of the models that lose most, mean over "
        "seeds; AD_f of the worst model; passes in percent of gold's, most of any seed.",
        "",
        "| recipe | epochs | roots' epochs | batch | rate |",
        "|---|---|---|---|---|",
        *(f"| {name} | {_shares(recipe)} |" for name, recipe in RECIPES.items()),
        "",
        "| data | situation | seeds | recipe | AD_r - gold | worst 5 % | AD_f | passes |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for data, situation in dict.fromkeys((row["data"], row["situation"]) for row in rows):
        some = [row for row in rows if (row["data"], row["situation"]) == (data, situation)]
        seeds = ", ".join(str(seed) for seed in sorted(row["seed"] for row in some))
        for name in RECIPES:
            found = [row["recipes"][name] for row in some if name in row["recipes"]]
            if found:
                lines.append(
                    f"| {data} | {situation.replace('_', ' ')} | {seeds} | {name} | {_cells(found)} |"
                )
    return "\n".join(lines) + "\n"


def _shares(recipe: Recipe) -> str:
    return " | ".join(f"{share:.3g}" for share in (recipe.epochs, recipe.root, recipe.batch, recipe.rate))


def _cells(found: list[dict[str, float]]) -> str:
    less = [100 * each["ad_r"] for each in found]
    worst = 100 * mean(each["worst"] for each in found)
    known, passes = (100 * max(each[key] for each in found) for key in ("ad_f", "passes"))
    spread = f"{mean(less):+.1f} ({min(less):+.1f} to {max(less):+.1f})"
    return f"{spread} | {worst:+.1f} | {known:.1f} | {passes:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", action="append")
    parser.add_argument("--seeds", default="5-9")
    parser.add_argument("--recipe", action="append", choices=tuple(RECIPES))
    parser.add_argument("--rows", type=Path, default=Path("build/short_recipes"))
    parser.add_argument("--output", type=Path, default=FIGURES)
    options = parser.parse_args()
    use_threads(THREADS)
    options.rows.mkdir(parents=True, exist_ok=True)
    rows = []
    for data, seed, situation in product(options.data or EMBEDDED, parse_seeds([options.seeds]), SITUATIONS):
        path = options.rows / f"{data.replace(':', '_')}-{situation}-{seed}.json"
        if not path.exists():
            found = measure(Cell(data, situation, Level.CLASS, seed), options.recipe or RECIPES)
            path.write_text(json.dumps(found), encoding="utf-8")
        rows.append(json.loads(path.read_text(encoding="utf-8")))
    rows.sort(key=lambda row: (row["data"], row["situation"], row["seed"]))
    print(page := render(rows))
    keep(options.output, NAME, rows, page)


if __name__ == "__main__":
    main()
