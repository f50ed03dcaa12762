# SPDX-License-Identifier: Apache-2.0
"""Attacks on a replaced version and its new version together: the forgotten samples, and their looks.

    python -m benchmarks.pair [--data digits] [--seeds 5-9] --output benchmarks/results/figures.jsonl

For each seed a federation is trained as in the audit, up to the first model that refers to user 5's first.
User 5 asks, each time from the same state, that 1, 4 or 16 of its samples be forgotten.  Each method answers
each request, and the attacks see both versions of user 5's model (the start) or of the model that refers to
it (the descendant).  Beside them:

- `gold2`: retrained without the samples, from another seed.  This is the floor: the old version beside a new
  one that does not depend on the samples.
- `neither knew`: two retrained models that never met the samples.  Attacks must find nothing.
- `one step`: a retrained model as the new version, and the same after a step on the samples as the old one.
  Attacks must find all.

A seed's models are kept in `--work` and not made again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import torch
from torch.nn import functional

from benchmarks import pair_attacks as attacks
from benchmarks.pair_table import markdown, summary
from benchmarks.stored import keep, load
from blockful_lab.experiments.machine import THREADS, describe
from blockful_lab.experiments.protocol import HOLDERS, Cell, lay_out, recipe_of
from blockful_lab.experiments.seeds import parse_seeds
from blockful_lab.experiments.variants import variants
from blockful_py.forget import Forget, Level
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.learning.data import Dataset, Samples, pooled
from blockful_py.learning.device import use_threads
from blockful_py.learning.federation import TrainedModel, train_federation
from blockful_py.learning.models import Architecture
from blockful_py.learning.streams import generator
from blockful_py.learning.weights import Weights
from blockful_py.settings import DataOptions
from blockful_py.unlearning.audit.references import GOLD2_SHIFT, GOLD_SHIFT, retrained_graph
from blockful_py.unlearning.audit.samples import SHOWN, first_of_each
from blockful_py.unlearning.registry import create_method
from blockful_py.unlearning.task import UnlearningTask

OWNER = HOLDERS[0]
SIZES = (*[1] * 6, 4, 16)
"""Samples of each request; no two requests of a seed share one."""

STEP = 0.05
"""Rate of the control's step."""

SAME_BITS = ("clean_increments_stored", "clean_line_stored", "clean_increments_short")
"""Variants that differ from their method at other levels alone, or in their length."""

NOISE = {"gradient_ascent_ascended": (0.02, 0.05), "salun": (0.02, 0.05)}
"""Standard deviations of the noise added to each new weight, by method."""

SLOW, SLOWLY = "clean_line", 2
"""A method that takes most of the time, and every how many requests it is asked."""

NEITHER, CONTROL, FLOOR = "neither knew", "one step", "gold2"
VIEWS = ("start", "descendant")
Models = Mapping[str, Weights]


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A request of a seed's federation.

    Attributes:
        rows: of the owner's training samples, which are to be forgotten.
    """

    number: int
    rows: tuple[int, ...]
    task: UnlearningTask


def prepared(data: str, seed: int, options: DataOptions) -> tuple[UnlearningTask, Dataset]:
    """A federation up to the first model that refers to the owner's first, and a request of it."""
    cell = Cell(data, "all_hold", Level.SAMPLE, seed)
    laid = lay_out(cell, options)
    laid = laid.lasting(recipe_of(laid.settings, laid.data).epochs)
    scenario = replace(laid.settings.scenario, rounds=1)
    settings = replace(laid.settings, scenario=scenario)
    models: dict[str, TrainedModel] = {}
    for wave in train_federation(settings, laid.users):
        models.update((model.name, model) for model in wave)
        heirs = [model for model in wave if any(models[each.name].user == OWNER for each in model.references)]
        if heirs:
            break
    named = InheritanceGraph.from_references(
        {name: [each.name for each in model.references] for name, model in models.items()}
    )
    heir = heirs[0].name
    kept = [models[name] for name in named.topological_order() if name in {heir, *named.ancestors([heir])}]
    proxy = first_of_each(laid.data.proxy, laid.data.train.classes(), SHOWN)
    start = next(model.name for model in kept if model.user == OWNER)
    forget = Forget.of_samples([(OWNER, 0)])
    return UnlearningTask.of(settings, kept, laid.users, [start], forget, proxy), laid.data


def requests(task: UnlearningTask, sizes: Sequence[int] = SIZES) -> Iterator[Request]:
    order = np.random.default_rng(task.seed).permutation(len(task.users[OWNER].train)).tolist()
    begin = 0
    for number, size in enumerate(sizes):
        rows = tuple(sorted(order[begin : begin + size]))
        begin += size
        yield Request(number, rows, replace(task, forget=Forget.of_samples((OWNER, row) for row in rows)))


def pairs_of(request: Request) -> Iterator[tuple[str, Models, Models]]:
    """Old and new weights of all affected models, by name of a method or reference."""
    task = request.task
    old = dict(task.weights(task.affected()))
    gold, gold2 = (retrained_graph(task, shift) for shift in (GOLD_SHIFT, GOLD2_SHIFT))
    yield NEITHER, gold, gold2
    gone = task.forget_set()
    yield CONTROL, {name: after_a_step(task.architecture, gold[name], gone) for name in gold}, gold
    yield FLOOR, old, gold2
    for variant in variants():
        if Level.SAMPLE not in variant.levels or variant.name in SAME_BITS:
            continue
        if variant.name == SLOW and request.number % SLOWLY:
            continue
        outcome = create_method(variant.method, **variant.settings).unlearn(task)
        new = {**old, **outcome.weights}
        yield variant.name, old, new
        for sigma in NOISE.get(variant.name, ()):
            stream = generator(task.seed, "pair noise", request.number)
            yield f"{variant.name} + {sigma}", old, {name: noised(new[name], sigma, stream) for name in new}


def after_a_step(architecture: Architecture, weights: Weights, samples: Samples) -> Weights:
    """The weights `w - STEP grad L(samples; w)`."""
    module = architecture.module(weights, attacks.CPU).eval()
    steps = torch.autograd.grad(
        functional.cross_entropy(module(samples.x), samples.y), list(module.parameters())
    )
    named = dict(zip([name for name, _ in module.named_parameters()], steps, strict=True))
    return {key: weights[key] - STEP * named[key] if key in named else weights[key] for key in weights}


def noised(weights: Weights, sigma: float, stream: torch.Generator) -> Weights:
    return {
        key: each + sigma * torch.randn(each.shape, generator=stream) if each.is_floating_point() else each
        for key, each in weights.items()
    }


def observed(request: Request, method: str, old: Models, new: Models, asked: Samples) -> dict[str, Any]:
    """Inputs of the attacks on a pair: weights and margins by view, alignments at the start."""
    architecture, affected = request.task.architecture, request.task.affected()
    views: dict[str, Any] = {}
    for view, name in zip(VIEWS, affected, strict=True):
        pair = old[name], new[name]
        margins = [attacks.margins_of(architecture, weights, asked) for weights in pair]
        views[view] = {
            "margins": torch.tensor(np.stack(margins, 1)),  # (n, 2)
            "old": dict(old[name]),
            "new": dict(new[name]),
        }
    start = affected[0]
    aligned = attacks.alignment(architecture, old[start], new[start], asked)
    return {"method": method, "rows": list(request.rows), "aligned": torch.tensor(aligned), **views}


def make(data: str, seed: int, options: DataOptions, sizes: Sequence[int] = SIZES) -> dict[str, Any]:
    """All pairs of a seed, with the inputs of the attacks."""
    task, dataset = prepared(data, seed, options)
    owned = task.users[OWNER].train
    asked = pooled([owned, dataset.test])
    seen = [
        observed(request, method, old, new, asked)
        for request in requests(task, sizes)
        for method, old, new in pairs_of(request)
    ]
    return {
        "seed": seed,
        "owned": len(owned),
        "x": asked.x,
        "y": asked.y,
        "architecture": task.architecture.name,
        "class_count": dataset.class_count,
        "pairs": seen,
    }


def ranks_of(made: Mapping[str, Any], sizes: Iterable[int] = (1, 4)) -> dict[str, list[float]]:
    """Of the reconstructed samples, by method and size of the request."""
    x, y, owned = made["x"], made["y"], made["owned"]
    architecture = Architecture(made["architecture"], tuple(x.shape[1:]), made["class_count"])
    held_out = Samples(x[owned:], y[owned:])
    span = float(held_out.x.min()), float(held_out.x.max())
    found: dict[str, list[float]] = {}
    methods = dict.fromkeys(each["method"] for each in made["pairs"])
    for method in methods:
        for size in sizes:
            chosen = [
                each for each in made["pairs"] if each["method"] == method and len(each["rows"]) == size
            ]
            if not chosen:
                continue
            rows = torch.tensor([each["rows"] for each in chosen])
            weights = [(each["start"]["old"], each["start"]["new"]) for each in chosen]
            stream = generator(made["seed"], "pair", method, size)
            drawn = attacks.reconstruct(architecture, weights, y[rows], span, stream)
            found[f"{method}/{size}"] = [
                rank
                for images, row in zip(drawn, rows, strict=True)
                for rank in attacks.likeness_ranks(images, y[row], Samples(x[row], y[row]), held_out)
            ]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", default="digits", help="digits (default), fashion_mnist_small, ...")
    parser.add_argument("--data-files", help="folder or hub id of the data set's files")
    parser.add_argument("--seeds", default="5-9", help="not 0 to 2, which are for tuning (default 5-9)")
    parser.add_argument("--membership-only", action="store_true", help="reconstruct nothing")
    parser.add_argument("--work", type=Path, default=Path("build/pair"), help="what was made (build/pair)")
    parser.add_argument("--output", type=Path, help="write the figures as JSON, and the table as Markdown")
    parser.add_argument("--render-only", action="store_true", help="measure nothing: the table of --output")
    options = parser.parse_args()
    name = "pair" if options.data == "digits" else f"pair_{options.data}"
    if options.render_only:
        document = load(options.output, name)
        keep(options.output, name, document, markdown(document))
        return
    use_threads(THREADS)
    options.work.mkdir(parents=True, exist_ok=True)
    every, ranks = [], {}
    seeds = parse_seeds([options.seeds])
    for seed in seeds:
        began, path = perf_counter(), options.work / f"{options.data}-{seed}.pt"
        if not path.exists():
            torch.save(make(options.data, seed, DataOptions(options.data_files)), path)
            print(f"seed {seed}: pairs, {perf_counter() - began:.0f} s", flush=True)
        made = torch.load(path, weights_only=True)
        every.append(made)
        began, path = perf_counter(), path.with_suffix(".json")
        if not path.exists() and not options.membership_only:
            path.write_text(json.dumps(ranks_of(made)), encoding="utf-8")
            print(f"seed {seed}: reconstructions, {perf_counter() - began:.0f} s", flush=True)
        if path.exists():
            ranks[seed] = json.loads(path.read_text(encoding="utf-8"))
    document = {
        "data": options.data,
        "command": f"python -m benchmarks.pair --data {options.data} --seeds {options.seeds} --output FILE",
        "seeds": list(seeds),
        "machine": describe(THREADS),
        **summary(every, ranks),
    }
    print(markdown(document))
    if options.output:
        keep(options.output, name, document, markdown(document))


if __name__ == "__main__":
    main()
