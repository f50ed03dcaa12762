# SPDX-License-Identifier: Apache-2.0
"""Retraining from clean models that were trained and stored at publication."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import ClassVar

from blockful_py.errors import UnlearningError
from blockful_py.forget import LEVELS, Level
from blockful_py.learning.weights import Weights
from blockful_py.types import Paradigm, References
from blockful_py.unlearning.chosen_again import KeptReferences, references_of, require_references
from blockful_py.unlearning.cost import Meter, Work
from blockful_py.unlearning.increments import fits
from blockful_py.unlearning.method import (
    AllAtOnce,
    IncrementsUsed,
    Need,
    Outcome,
    Review,
    outcome_of,
    require_level,
)
from blockful_py.unlearning.retraining import passes_of, retrain_wave
from blockful_py.unlearning.stored_increments import CLEAN
from blockful_py.unlearning.task import UnlearningTask


@dataclass(frozen=True, slots=True)
class RetrainAhead(AllAtOnce):
    """Publishes clean models that were trained in advance, without the forgotten class.

    At publication, every model that a class has reached is trained a second time, without the class and from
    its references' clean models.  A request replaces the published models by these clean ones:

    `w'_y = Train(mean of w'_refs, D_y without the forgotten)`,  `w'_y = w_y` for models not reached.

    A request then trains nothing, and forgetting is exact: no clean model descends from a model that knew the
    class, affected or not.  Clean models that are not stored, or no longer fit, are trained for the request,
    wave by wave: this is retraining, and takes as long.

    `references`: "kept", or "chosen again" by eq. 1 (`chosen_again`), also of the ancestors.
    """

    references: str = References.KEPT
    name: ClassVar[str] = "retrain_ahead"
    paradigms: ClassVar[frozenset[Paradigm]] = frozenset({Paradigm.PARALLEL, Paradigm.SEQUENTIAL})
    needs: ClassVar[frozenset[Need]] = frozenset({Need.START_DATA, Need.DESCENDANT_DATA, Need.HOLDERS_DATA})
    levels: ClassVar[frozenset[Level]] = frozenset(LEVELS)
    review: ClassVar[Review] = Review.REMEASURED

    def __post_init__(self) -> None:
        require_references(self.references)

    def unlearn(self, task: UnlearningTask) -> Outcome:
        require_level(self, task)
        meter, references = Meter(), references_of(task, self.references)
        task = references.task
        began = perf_counter()
        clean: dict[str, Weights] = {}
        stored: list[str] = []
        for wave in references.waves(reached(references)):
            choosing = {name: Work() for name in wave}
            for name, work in choosing.items():
                references.choose(name, clean, work)
            kept = {name: task.stored[name] for name in wave if name in task.stored}
            usable = {name: each.weights for name, each in kept.items() if fits(task, name, each, clean)}
            made = retrain_wave(task, [name for name in wave if name not in usable], clean, CLEAN)
            for name in wave:
                with meter.job(name, references.above(name)) as job:
                    job.passes += choosing[name].passes
                with meter.preparation() if name in usable else meter.job(name) as job:
                    job.trained(passes_of(task, name))
            clean |= usable | made
            stored += usable
        used = IncrementsUsed(
            tuple(name for name in task.graph.topological_order() if name in stored),
            tuple(name for name in task.graph.topological_order() if name in clean and name not in stored),
        )
        weights = {name: clean[name] for name in task.affected()}
        outcome = outcome_of(task, weights, meter.cost(), {self.name: perf_counter() - began})
        return replace(outcome, increments=used, references=references.of_affected())


def reached(references: KeptReferences) -> tuple[str, ...]:
    """Affected models, and models that they may be trained from, if forgotten samples have reached them.

    In topological order.  Samples reach a model by its owner's data or by a reference.  Where an owner is
    alone, its references are clean already.

    Raises UnlearningError: an affected model or one that it may be trained from, or its owner's data, is
        missing.
    """
    task = references.task
    if task.alone:
        return task.affected()
    for name in sorted(_up(references, task.graph.names)):
        if name not in task.models or task.models[name].user not in task.users:
            raise UnlearningError(
                f"retraining needs all ancestors of the affected models, with their owners' data: "
                f"{name!r} is missing, or its owner's data is."
            )
    found = task.reached()
    needed = _up(references, found)
    return tuple(name for name in found if name in needed)


def _up(references: KeptReferences, names: Iterable[str]) -> set[str]:
    """The affected models, and all of `names` that they may be trained from, directly or not."""
    found, within, pending = set[str](), set(names), list(references.task.affected())
    while pending:
        name = pending.pop()
        if name in within and name not in found:
            found.add(name)
            pending += references.above(name)
    return found
