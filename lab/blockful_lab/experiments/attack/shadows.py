# SPDX-License-Identifier: Apache-2.0
"""Shadow federations as a task of an engine: trained, made to forget, and asked.

Shadow federations of a scenario share users and data, and draw everything else from seeds of their own: the
shared initialisation, candidates, batches.  Models that never knew have the same references as models that
unlearned, like the audit's gold.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from blockful_lab.experiments.attack.gathered import side_by_side
from blockful_lab.experiments.attack.targets import KEPT, Ask, AttackTarget, ShadowRequest, request_of
from blockful_lab.experiments.cell_task import at_work
from blockful_lab.experiments.machine import THREADS, describe
from blockful_lab.experiments.protocol import Cell, PreparedCell, federated, lay_out
from blockful_lab.experiments.results import cell_from
from blockful_py.learning.data import Samples, pooled
from blockful_py.learning.device import use_threads
from blockful_py.learning.intervals import weights_digest
from blockful_py.learning.streams import generator
from blockful_py.learning.together import Fitter
from blockful_py.learning.weights import Weights
from blockful_py.settings import DataOptions
from blockful_py.unlearning.audit.margins import margins_of
from blockful_py.unlearning.audit.references import GOLD2_SHIFT, GOLD_SHIFT, retrained_graph
from blockful_py.unlearning.audit.residual import perturbed
from blockful_py.unlearning.head import neutralised
from blockful_py.unlearning.task import UnlearningTask
from blockful_py.verdicts.references import GOLD, GOLD2, HEAD_MASK, ORIGINAL

SHADOW_SHIFT = 10_000_000
"""Between the seeds of shadow federations, beyond what tells gold from gold2."""

ALL, START, DEEPEST = "all affected", "first start", "deepest"
VIEWS = (ALL, START, DEEPEST)
"""Margins that the attacker sees: the mean of all affected models, or one model's."""

DIGITS = 4
"""Decimals of stored margins."""


def attack_shadows(settings: Mapping[str, Any], inputs: Sequence[bytes], seeds: Sequence[int]) -> bytes:
    """A `TaskFunction`: the rows of some shadow federations, which train in common stacks.

    Args:
        settings: `cell`, `ask`; `epochs`; `data_files`; `shadows`, by number the rows
            of each: `references` and `variants`.
        inputs, seeds: none.

    Returns JSON: the machine, the seconds, and by number the federation's digest, the number of its affected
    models, and the margins by row, target, view and part.
    """
    use_threads(THREADS)
    began = perf_counter()
    cell = cell_from(settings["cell"])
    laid = lay_out(cell, DataOptions(settings["data_files"])).lasting(settings["epochs"])
    request = request_of(Ask(settings["ask"]), cell, laid)
    questions = _questions(request, cell.seed)
    asked = settings["shadows"]
    works = [partial(_shadow, cell, request, questions, int(number), asked[number]) for number in asked]
    told = dict(zip(asked, side_by_side(works), strict=True))
    seconds = perf_counter() - began
    return json.dumps({"machine": describe(THREADS), "seconds": seconds, "shadows": told}).encode()


def _shadow(
    cell: Cell,
    request: ShadowRequest,
    questions: Sequence[AskedSamples],
    number: int,
    wanted: Mapping[str, Any],
    fitter: Fitter,
) -> dict[str, Any]:
    seed = cell.seed + SHADOW_SHIFT * (number + 1)
    laid = replace(request.laid, settings=replace(request.laid.settings, seed=seed, fitter=fitter))
    prepared = federated(cell, laid, request.forget)
    rows = _rows(wanted["references"], wanted["variants"], prepared)
    return {
        "federation": digest(prepared.task),
        "affected": len(prepared.task.affected()),
        "rows": {name: answers(prepared.task, weights, questions) for name, weights in rows},
    }


def digest(task: UnlearningTask) -> str:
    """SHA-256 over the published models, in the order of their names."""
    digests = [weights_digest(task.models[name].weights) for name in sorted(task.models)]
    return hashlib.sha256("".join(digests).encode()).hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class AskedSamples:
    """Samples of which a model's margins are read.

    Attributes:
        part: "asked", "near" (perturbed forgotten samples) or "strangers".
    """

    target: str
    part: str
    samples: Samples


def _questions(request: ShadowRequest, seed: int) -> tuple[AskedSamples, ...]:
    return tuple(
        AskedSamples(name, part, samples)
        for name, target in request.targets.items()
        for part, samples in _parts(name, target, seed)
    )


def _parts(name: str, target: AttackTarget, seed: int) -> Iterator[tuple[str, Samples]]:
    yield "asked", target.asked
    yield "strangers", target.strangers
    if name != KEPT:
        yield "near", perturbed(target.asked, generator(seed, "near", name))


def answers(
    task: UnlearningTask, weights: Mapping[str, Weights], questions: Sequence[AskedSamples]
) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Margins by target, view and part."""
    everything = pooled(question.samples for question in questions)
    sizes = np.cumsum([len(question.samples) for question in questions])[:-1]
    published = task.models
    by_model = {
        name: margins_of(task.architecture, weights.get(name, published[name].weights), everything)
        for name in task.affected()
    }
    depth = {name: depths.longest for name, depths in task.graph.depth(task.starts).items()}
    views = {
        ALL: np.mean(list(by_model.values()), axis=0),
        START: by_model[task.starts[0]],
        DEEPEST: by_model[max(by_model, key=depth.__getitem__)],
    }
    found: dict[str, dict[str, dict[str, list[float]]]] = {}
    for view, values in views.items():
        for question, part in zip(questions, np.split(values, sizes), strict=True):
            of_view = found.setdefault(question.target, {}).setdefault(view, {})
            of_view[question.part] = np.round(part, DIGITS).tolist()
    return found


def _rows(
    references: Sequence[str], variants: Sequence[Mapping[str, Any]], prepared: PreparedCell
) -> Iterator[tuple[str, Mapping[str, Weights]]]:
    task = prepared.task
    for name in references:
        if name == ORIGINAL:
            yield name, {}
        elif name in (GOLD, GOLD2):
            yield name, retrained_graph(task, GOLD_SHIFT if name == GOLD else GOLD2_SHIFT)
        elif name == HEAD_MASK:
            published = task.weights(task.affected())
            yield (
                name,
                {each: neutralised(task.architecture, published[each], task.classes) for each in published},
            )
    for variant in variants:
        method, asked = at_work(variant, prepared)
        yield variant["name"], method.unlearn(asked).weights
