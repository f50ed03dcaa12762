# SPDX-License-Identifier: Apache-2.0
"""The rows of one cell of the audit, as a task of an engine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from time import perf_counter
from typing import Any

from blockful_lab.experiments.machine import THREADS, describe
from blockful_lab.experiments.protocol import PreparedCell, prepare
from blockful_lab.experiments.results import Result, cell_from, references_of, to_document
from blockful_lab.experiments.variants import STORES
from blockful_py.learning.device import use_threads
from blockful_py.learning.intervals import weights_digest
from blockful_py.learning.weights import Weights
from blockful_py.settings import DataOptions
from blockful_py.unlearning.audit import bench as benches
from blockful_py.unlearning.audit.auditing import samples_digest
from blockful_py.unlearning.audit.exactness import agree, other_worlds
from blockful_py.unlearning.audit.samples import audit_samples
from blockful_py.unlearning.cost import Cost
from blockful_py.unlearning.method import Method
from blockful_py.unlearning.registry import create_method
from blockful_py.unlearning.stored_increments import StoredIncrement
from blockful_py.unlearning.task import UnlearningTask
from blockful_py.verdicts.references import GOLD


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """New weights by model, their cost, and their settings."""

    name: str
    weights: Mapping[str, Weights]
    cost: Cost | None
    seconds: float
    recorded: Mapping[str, Any]
    stored_seconds: float = 0.0
    stored_bytes: int = 0
    exact: bool = False


def measure_cell(settings: Mapping[str, Any], inputs: Sequence[bytes], seeds: Sequence[int]) -> bytes:
    """A `TaskFunction`: trains a cell's federation, and measures the rows that are asked for.

    Args:
        settings: the cell; `data_files`, where its data are; `references`, names of reference
            rows; `variants`, methods with settings.
        inputs, seeds: none; the cell has its seed.

    Returns JSON: digests of the federation's affected models, the rows, and the seconds that all took.
    """
    use_threads(THREADS)
    began = perf_counter()
    cell = cell_from(settings["cell"])
    prepared = prepare(cell, DataOptions(settings["data_files"]))
    task = prepared.task
    bench = benches.prepare(task, audit_samples(task, prepared.data))
    digest, machine = samples_digest(bench.samples), describe(THREADS)
    recipe = {} if prepared.recipe is None else asdict(prepared.recipe)
    rows = [
        to_document(
            Result(
                cell=cell,
                settings=made.recorded,
                row=bench.measure(made.name, made.weights),
                cost=made.cost,
                seconds=made.seconds,
                samples=digest,
                command="",
                machine=machine,
                recipe=recipe,
                stored_seconds=made.stored_seconds,
                stored_bytes=made.stored_bytes,
                exact=made.exact,
            )
        )
        for made in _made(settings, prepared, bench)
    ]
    models = {name: weights_digest(task.models[name].weights) for name in task.affected()}
    return json.dumps({"federation": models, "rows": rows, "seconds": perf_counter() - began}).encode()


def _made(settings: Mapping[str, Any], prepared: PreparedCell, bench: benches.Bench) -> Iterator[Made]:
    worlds = cache(lambda references: tuple(other_worlds(prepared.task, references=references)))
    for name in settings["references"]:
        began = perf_counter()
        weights = bench.reference(name)
        yield Made(name, weights, bench.gold_cost if name == GOLD else None, perf_counter() - began, {})
    for variant in settings["variants"]:
        began = perf_counter()
        method, task = at_work(variant, prepared)
        stored = perf_counter()
        outcome = method.unlearn(task)
        weights = dict(outcome.weights)
        yield Made(
            variant["name"],
            weights,
            outcome.cost,
            perf_counter() - stored,
            variant["recorded"],
            stored - began,
            sum(size_of(each.weights) for each in task.stored.values()),
            exact(variant, prepared, weights, worlds(references_of(variant["settings"]))),
        )


def exact(
    variant: Mapping[str, Any],
    prepared: PreparedCell,
    weights: Mapping[str, Weights],
    worlds: Sequence[UnlearningTask],
) -> bool:
    """Whether a variant makes the same weights in other worlds, from increments stored there."""
    found = {name: weights_digest(each) for name, each in weights.items()}
    method = create_method(variant["method"], (variant["method"],), **variant["settings"])
    stores = variant["stored"]

    def store(world: UnlearningTask) -> Mapping[str, StoredIncrement]:
        return replace(prepared, task=world).storing(STORES[stores]).stored

    return agree(found, method, worlds, store if stores else None)


def size_of(weights: Weights) -> int:
    """Bytes of a state dict in memory."""
    return sum(tensor.nbytes for tensor in weights.values())


def at_work(variant: Mapping[str, Any], prepared: PreparedCell) -> tuple[Method, UnlearningTask]:
    """A variant's method, and its task with the increments stored at publication."""
    stores = variant["stored"]
    task = prepared.storing(STORES[stores]) if stores else prepared.task
    return create_method(variant["method"], (variant["method"],), **variant["settings"]), task
