# SPDX-License-Identifier: Apache-2.0
"""Sequential unlearning by retraining (paper, algorithm 2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import ClassVar

from blockful_py.forget import Level
from blockful_py.learning.weights import Weights
from blockful_py.types import Paradigm
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
    """

    name: ClassVar[str] = "retrain"
    paradigms: ClassVar[frozenset[Paradigm]] = frozenset({Paradigm.SEQUENTIAL})
    needs: ClassVar[frozenset[Need]] = frozenset({Need.START_DATA, Need.DESCENDANT_DATA})
    levels: ClassVar[frozenset[Level]] = frozenset(Level)
    review: ClassVar[Review] = Review.REMEASURED

    def unlearn(self, task: UnlearningTask) -> Outcome:
        meter = Meter()
        done = list(self._steps(task, meter))
        weights = {step.name: step.weights for step in done}
        return outcome_of(task, weights, meter.cost(), {"retrain": sum(step.seconds for step in done)})

    def steps(self, task: UnlearningTask) -> Iterator[ModelUpdate]:
        return self._steps(task, Meter())

    def _steps(self, task: UnlearningTask, meter: Meter) -> Iterator[ModelUpdate]:
        updated: dict[str, Weights] = {}
        for name in task.affected():
            began = perf_counter()
            with meter.job(name, after=task.graph.references(name)) as work:
                updated[name] = retrain_model(task, name, updated, work)
            yield ModelUpdate(name, updated[name], perf_counter() - began, meter.cost())
