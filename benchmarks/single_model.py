# SPDX-License-Identifier: Apache-2.0
"""KLoM and U-LiRA of single models, as the data-unlearning benchmark measures them (arXiv 2602.16400).

    python -m benchmarks.single_model [--models 100] --output benchmarks/results/figures.jsonl

No federation and no graph: the small network is trained on all training digits, from many seeds.  Each
method makes each of these models forget a class, or 100 samples, and is compared with as many models trained
without them, from other seeds.  `gold2` are models retrained from a third set of seeds: the floor.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import torch

from benchmarks.single_model_table import markdown
from benchmarks.stored import keep, load
from blockful_lab.experiments.machine import THREADS, describe
from blockful_lab.experiments.variants import Variant, variants
from blockful_py.forget import Forget, Level
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.learning.data import Dataset, Samples, UserData
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.device import use_threads
from blockful_py.learning.federation import TrainedModel
from blockful_py.learning.forget_sets import forget_set, retain_set
from blockful_py.learning.models import Architecture
from blockful_py.learning.streams import generator
from blockful_py.learning.together import TrainingJob, train_together
from blockful_py.learning.weights import Weights
from blockful_py.settings import TrainingSettings
from blockful_py.unlearning.audit import klom, u_lira
from blockful_py.unlearning.audit.margins import margins_of
from blockful_py.unlearning.audit.network import Floats
from blockful_py.unlearning.task import UnlearningTask
from blockful_py.verdicts.references import GOLD, GOLD2, HEAD_MASK, ORIGINAL

SEED, FORGOTTEN = 5, 100
"""Seed of the data and of the drawn samples, whose number is a forget set's in the benchmark."""
TRAINING = TrainingSettings(epochs=16, learning_rate=0.05)
METHODS = ("fine_tune", "fiun", "gradient_ascent_ascended", "salun", "scrub", "ssd")
CPU = torch.device("cpu")
NAME = "single_model"

Splits = Mapping[str, Samples]


def measure(models: int) -> dict[str, Any]:
    """Figures of all methods at both requests."""
    began = perf_counter()
    data = load_dataset("digits", SEED, CPU)
    owner = UserData(1, data.train, data.test)
    rows = np.random.default_rng(SEED).permutation(len(data.train))[:FORGOTTEN]
    requests = (Forget.of_classes([SEED]), Forget.of_samples((1, int(row)) for row in rows))
    architecture = Architecture.of("cnn", data)
    originals = trained(architecture, data.train, ORIGINAL, models)
    told = [
        {"request": title, "examples": {name: len(each) for name, each in splits.items()}, "rows": rows}
        for title, splits, rows in (
            _request(architecture, data, owner, forget, originals) for forget in requests
        )
    ]
    return {
        "models": models,
        "training": asdict(TRAINING),
        "machine": describe(THREADS),
        "seconds": perf_counter() - began,
        "requests": told,
    }


def trained(architecture: Architecture, samples: Samples, purpose: str, models: int) -> tuple[Weights, ...]:
    """Models from as many seeds, which no two purposes share."""
    jobs = [
        TrainingJob(
            architecture.initial(generator(SEED, purpose, "initial", i)),
            samples,
            TRAINING,
            generator(SEED, purpose, "train", i),
        )
        for i in range(models)
    ]
    return train_together(architecture, jobs)


def _request(
    architecture: Architecture,
    data: Dataset,
    owner: UserData,
    forget: Forget,
    originals: Sequence[Weights],
) -> tuple[str, Splits, list[dict[str, Any]]]:
    splits = {"forget": forget_set(forget, owner), "retain": retain_set(forget, owner), "test": data.test}
    gold, gold2 = (
        trained(architecture, splits["retain"], f"{name} {forget.level}", len(originals))
        for name in (GOLD, GOLD2)
    )
    tasks = [_task(architecture, owner, forget, weights, i) for i, weights in enumerate(originals)]
    never_knew = {name: _margins(architecture, gold, each) for name, each in splits.items()}
    listed: list[tuple[str, Sequence[Weights]]] = [(GOLD2, gold2), (ORIGINAL, originals)]
    for variant in _able(forget.level):
        made = variant.created()
        listed.append((variant.name, [made.unlearn(task).weights["r1"] for task in tasks]))
    title = "class" if forget.level is Level.CLASS else f"{FORGOTTEN} samples"
    return title, splits, [_row(name, architecture, each, splits, never_knew) for name, each in listed]


def _able(level: Level) -> Iterator[Variant]:
    """The control and the methods that can forget at a level."""
    listed = (Variant(HEAD_MASK, HEAD_MASK), *variants(METHODS))
    yield from (each for each in listed if level in each.levels)


def _task(
    architecture: Architecture, owner: UserData, forget: Forget, weights: Weights, number: int
) -> UnlearningTask:
    model = TrainedModel("r1", 1, 1, (), weights, 0.0, TRAINING)
    initial = architecture.initial(generator(SEED, ORIGINAL, "initial", number))
    graph = InheritanceGraph.from_references({"r1": []})
    return UnlearningTask(graph, {"r1": model}, {1: owner}, architecture, initial, ("r1",), forget, number)


def _margins(architecture: Architecture, models: Sequence[Weights], samples: Samples) -> Floats:
    """Margins by model and sample, (S, n)."""
    return np.stack([margins_of(architecture, each, samples) for each in models])


def _row(
    name: str,
    architecture: Architecture,
    models: Sequence[Weights],
    splits: Splits,
    never_knew: Mapping[str, Floats],
) -> dict[str, Any]:
    own = {split: _margins(architecture, models, samples) for split, samples in splits.items()}
    distances = {split: klom(own[split], never_knew[split]) for split in splits}
    attack = u_lira(own["forget"], never_knew["forget"])
    return {
        "method": name,
        "right": {split: float((each > 0).mean()) for split, each in own.items()},
        "klom": {split: {"mean": each.mean, "p95": each.p95} for split, each in distances.items()},
        "u_lira": {figure: asdict(getattr(attack, figure)) for figure in ("auc", "tpr", "accuracy")},
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=int, default=100)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--render-only", action="store_true")
    asked = parser.parse_args()
    use_threads(THREADS)
    result = load(asked.output, NAME) if asked.render_only else measure(asked.models)
    keep(asked.output, NAME, result, markdown(result))
    print(markdown(result))


if __name__ == "__main__":
    main()
