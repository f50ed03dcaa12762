# SPDX-License-Identifier: Apache-2.0
"""Sequential unlearning by retraining (paper, algorithm 2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import perf_counter
from typing import ClassVar

from blockful_py.forget import LEVELS, Level
from blockful_py.learning.weights import Weights
from blockful_py.types import Paradigm, References
from blockful_py.unlearning.chosen_again import references_of, require_references
from blockful_py.unlearning.cost import Meter
from blockful_py.unlearning.method import ModelUpdate, Need, Outcome, Review, outcome_of
from blockful_py.unlearning.retraining import retrain_model
from blockful_py.unlearning.task import UnlearningTask


@dataclass(frozen=True, slots=True)
class Retrain:
    """Retrains starts and descendants one after the other, in topological order.

    Each model re-aggregates its updated references (paper, eq. 17) and trains again on its owner's retained
    data (eq. 18).  Models that do not descend from a start do not change.  If their owners hold a forgotten
    class too (situation `all_hold`), they may still teach it to the models that reference them.

    `references`: "kept", or "chosen again" by eq. 1 (`chosen_again`).
    """

    references: str = References.KEPT
    name: ClassVar[str] = "retrain"
    paradigms: ClassVar[frozenset[Paradigm]] = frozenset({Paradigm.SEQUENTIAL})
    needs: ClassVar[frozenset[Need]] = frozenset({Need.START_DATA, Need.DESCENDANT_DATA})
    levels: ClassVar[frozenset[Level]] = frozenset(LEVELS)
    review: ClassVar[Review] = Review.REMEASURED

    def __post_init__(self) -> None:
        require_references(self.references)

    def unlearn(self, task: UnlearningTask) -> Outcome:
        meter = Meter()
        done = list(self._steps(task, meter))
        weights = {step.name: step.weights for step in done}
        chosen = {step.name: step.references for step in done if step.references is not None}
        seconds = {"retrain": sum(step.seconds for step in done)}
        return replace(outcome_of(task, weights, meter.cost(), seconds), references=chosen)

    def steps(self, task: UnlearningTask) -> Iterator[ModelUpdate]:
        return self._steps(task, Meter())

    def _steps(self, task: UnlearningTask, meter: Meter) -> Iterator[ModelUpdate]:
        updated: dict[str, Weights] = {}
        references = references_of(task, self.references)
        for name in task.affected():
            began = perf_counter()
            with meter.job(name, after=references.above(name)) as work:
                references.choose(name, updated, work)
                updated[name] = retrain_model(references.task, name, updated, work)
            seconds, chosen = perf_counter() - began, references.chosen.get(name)
            yield ModelUpdate(name, updated[name], seconds, meter.cost(), references=chosen)
