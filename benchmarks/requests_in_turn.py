# SPDX-License-Identifier: Apache-2.0
"""Ten requests in turn on one federation: the knowledge of its models after each, and after the tenth.

    python -m benchmarks.requests_in_turn [--data digits] [--seeds 5 6 7 8 9] --rows FOLDER --output FILE

The federations of the audit in which all hold everything.  Four classes, three clients and a quarter of the
samples of three other users are forgotten, in an order that the seed draws.  A class starts at the first
models of all users, so that it reaches every model; a client, and samples of one, at all models of theirs.
Classes take `retrain_ahead`, clients and samples `clean_increments`; each request works on the models left by
the requests before.  Clients and owners of samples are drawn from users whose first model has references: the
root of a client that left would be an untrained model.

A request is audited at once, against gold without it and the requests before, and after the tenth, against
gold without all ten: on the models that it reached, and elsewhere.  The original is the federation before the
first request.  A seed that has a file in FOLDER is not measured again.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from benchmarks.requests_in_turn_table import AT_ONCE, LAST, ROWS, UNLEARNED, markdown, report
from benchmarks.stored import keep, load
from blockful_lab.experiments.machine import THREADS, describe
from blockful_lab.experiments.plateau import Plateau
from blockful_lab.experiments.protocol import SAMPLES, Cell, Layout, lay_out, recipe_of
from blockful_py.forget import Forget, Level
from blockful_py.learning.data import Dataset
from blockful_py.learning.device import use_threads
from blockful_py.learning.federation import TrainedModel, train_federation
from blockful_py.learning.intervals import weights_digest
from blockful_py.learning.weights import Weights, equal
from blockful_py.pipeline.jobs.unlearning import PROXY_SAMPLES
from blockful_py.unlearning.audit.bench import Bench, beside, prepare
from blockful_py.unlearning.audit.exactness import agree, other_worlds
from blockful_py.unlearning.audit.references import GOLD2_SHIFT, GOLD_SHIFT, retrained_graph
from blockful_py.unlearning.audit.samples import audit_samples
from blockful_py.unlearning.cost import Meter
from blockful_py.unlearning.method import Outcome
from blockful_py.unlearning.proxy import available_proxy
from blockful_py.unlearning.registry import create_method
from blockful_py.unlearning.task import UnlearningTask
from blockful_py.verdicts.outcome import row_to_json
from blockful_py.verdicts.references import GOLD, GOLD2, ORIGINAL

KINDS = (Level.CLASS,) * 4 + (Level.CLIENT,) * 3 + (Level.SAMPLE,) * 3
METHODS = {Level.CLASS: "retrain_ahead", Level.CLIENT: "clean_increments", Level.SAMPLE: "clean_increments"}
"""Exact for classes; for the others, of what takes about a tenth of gold's passes, the closest to gold."""


@dataclass(frozen=True)
class Asked:
    """A request."""

    forget: Forget
    starts: tuple[str, ...]

    @property
    def method(self) -> str:
        return METHODS[self.forget.level]


@dataclass(frozen=True, eq=False)
class Done:
    """A request that was carried out: its task, what came of it, and all models after it."""

    task: UnlearningTask
    outcome: Outcome
    models: Mapping[str, TrainedModel]


@dataclass(frozen=True, eq=False)
class Turn:
    """A federation as published, and its requests in their order.

    Attributes:
        task: of all its models; each request has its own starts and forget set.
    """

    data: Dataset
    recipe: Plateau
    task: UnlearningTask
    requests: tuple[Asked, ...]

    def carried_out(self) -> Iterator[Done]:
        models = dict(self.task.models)
        earlier: dict[str, tuple[Forget, ...]] = {}
        for asked in self.requests:
            task = replace(
                self.task,
                models=dict(models),
                starts=asked.starts,
                forget=asked.forget,
                earlier=dict(earlier),
                proxy=available_proxy(self.data.proxy, asked.forget, PROXY_SAMPLES),
            )
            outcome = create_method(asked.method).unlearn(task)
            for name, weights in outcome.weights.items():
                models[name] = replace(models[name], weights=weights)
                earlier[name] = (*earlier.get(name, ()), asked.forget)
            yield Done(task, outcome, dict(models))

    def asked_of_all(self, forget: Forget, others: Iterable[Forget]) -> UnlearningTask:
        """Every published model is asked to forget, and must not know the others either."""
        names = self.task.graph.names
        known = tuple(each for each in others if each != forget)
        return replace(self.task, starts=tuple(names), forget=forget, earlier=dict.fromkeys(names, known))


def prepared(cell: Cell) -> Turn:
    """Trains a federation, and draws its requests."""
    laid = lay_out(cell)
    recipe = recipe_of(laid.settings, laid.data)
    laid = laid.lasting(recipe.epochs)
    models = [model for wave in train_federation(laid.settings, laid.users) for model in wave]
    requests = drawn(laid, models)
    first = requests[0]
    task = UnlearningTask.of(laid.settings, models, laid.users, first.starts, first.forget)
    return Turn(laid.data, recipe, task, requests)


def drawn(laid: Layout, models: Sequence[TrainedModel]) -> tuple[Asked, ...]:
    """Classes, clients, samples and their order, by the federation's seed."""
    stream = np.random.default_rng(laid.settings.seed)
    first = {model.user: model for model in models if model.round == 1}
    heirs = [user for user, model in first.items() if model.references]
    classes = stream.permutation(laid.data.class_count)[: KINDS.count(Level.CLASS)].tolist()
    users = stream.permutation(heirs)[: len(KINDS) - len(classes)].tolist()
    roots = tuple(model.name for model in first.values())

    def asked(level: Level) -> Asked:
        if level is Level.CLASS:
            return Asked(Forget.of_classes([classes.pop()]), roots)
        user = users.pop()
        starts = tuple(model.name for model in models if model.user == user)
        if level is Level.CLIENT:
            return Asked(Forget.of_clients([user]), starts)
        held = len(laid.users[user - 1].train)
        rows = stream.permutation(held)[: round(SAMPLES * held)]
        return Asked(Forget.of_samples((user, int(row)) for row in rows), starts)

    return tuple(asked(KINDS[place]) for place in stream.permutation(len(KINDS)))


def measure(turn: Turn) -> dict[str, Any]:
    """Carries the requests out, and audits each at once and after the last."""
    done: list[Done] = []
    requests: list[dict[str, Any]] = []
    began = perf_counter()
    for asked, each in zip(turn.requests, turn.carried_out(), strict=True):
        seconds = perf_counter() - began
        task = replace(each.task, models=turn.task.models)
        bench = prepare(task, audit_samples(task, turn.data))
        requests.append(
            {
                "forget": str(asked.forget),
                "level": asked.forget.level,
                "method": asked.method,
                "reached": list(task.affected()),
                "seconds": seconds,
                "passes": each.outcome.cost.passes,
                AT_ONCE: rows(bench, each.outcome.weights, bench.reference(GOLD2)),
                "exact at once": exact_at_once(asked, each),
            }
        )
        done.append(each)
        print(f"  {asked.forget.level} by {asked.method}: {seconds:.1f} s", flush=True)
        began = perf_counter()
    forgets = [asked.forget for asked in turn.requests]
    every = turn.asked_of_all(forgets[0], forgets)
    meter = Meter()
    gold, gold2 = retrained_graph(every, GOLD_SHIFT, meter), retrained_graph(every, GOLD2_SHIFT)
    after = {name: model.weights for name, model in done[-1].models.items()}
    for asked, request in zip(turn.requests, requests, strict=True):
        task = turn.asked_of_all(asked.forget, forgets)
        request[LAST] = rows(beside(task, audit_samples(task, turn.data), gold, meter.cost()), after, gold2)
    anew = [number for number, asked in enumerate(turn.requests) if asked.forget.level is Level.CLASS]
    kept = exact_after_all(turn, anew[-1], after)
    for number, request in enumerate(requests):
        request["anew before"], request["anew later"] = number > anew[0], number < anew[-1]
        request["exact after the tenth"] = kept if number <= anew[-1] else False
    return {
        "recipe": asdict(turn.recipe),
        "gold passes": meter.cost().passes,
        "requests": requests,
        "machine": describe(THREADS),
    }


def rows(bench: Bench, weights: Mapping[str, Weights], gold2: Mapping[str, Weights]) -> list[dict[str, Any]]:
    models = {ORIGINAL: bench.reference(ORIGINAL), GOLD: bench.gold, GOLD2: gold2, UNLEARNED: weights}
    return [row_to_json(bench.measure(name, models[name])) for name in ROWS]


def exact_at_once(asked: Asked, done: Done) -> bool:
    """Whether a request's new weights depend on nothing that it, or one before it, forgot."""
    found = {name: weights_digest(each) for name, each in done.outcome.weights.items()}
    return agree(found, create_method(asked.method), other_worlds(done.task))


def exact_after_all(turn: Turn, last: int, after: Mapping[str, Weights]) -> bool:
    """Whether, after all requests, no weight depends on what those up to the number `last` forgot."""
    forgets = [asked.forget for asked in turn.requests[: last + 1]]
    (other,) = other_worlds(turn.asked_of_all(forgets[0], forgets), 1)
    changed = replace(turn, task=replace(turn.task, models=other.models, users=other.users))
    models = [each.models for each in changed.carried_out()][-1]
    return all(equal(after[name], model.weights) for name, model in models.items())


def measured_in(folder: Path, cell: Cell) -> Mapping[str, Any]:
    """Figures of a seed from the folder, measured if missing."""
    path = folder / f"{cell.data}-{cell.seed}.json"
    if not path.exists():
        print(f"seed {cell.seed}", flush=True)
        found = measure(prepared(cell))
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found), encoding="utf-8")
    told: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", default="digits")
    parser.add_argument("--seeds", type=int, nargs="+", default=[5, 6, 7, 8, 9])
    parser.add_argument("--rows", type=Path, help="folder of the figures of single models, a file a seed")
    parser.add_argument("--output", type=Path, required=True, help="JSON; its tables come beside it")
    parser.add_argument("--render-only", action="store_true", help="measure nothing: the tables of --output")
    given = parser.parse_args()
    if given.render_only:
        stored = load(given.output, "in_turn")
        keep(given.output, "in_turn", stored, markdown(stored))
        return
    if given.rows is None:
        parser.error("--rows names the folder to measure in.")
    use_threads(THREADS)
    cells = [Cell(given.data, "all_hold", Level.CLASS, seed) for seed in given.seeds]
    measured = {cell: measured_in(given.rows, cell) for cell in cells}
    seeds = " ".join(map(str, given.seeds))
    command = f"python -m benchmarks.requests_in_turn --data {given.data} --seeds {seeds}"
    result = report(measured, f"{command} --rows FOLDER --output FILE")
    keep(given.output, "in_turn", result, markdown(result))
    print(markdown(result))


if __name__ == "__main__":
    main()
