# SPDX-License-Identifier: Apache-2.0
"""A clean line: affected models are trained briefly from weights that never saw the forgotten samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import ClassVar

from blockful_py.forget import LEVELS, Level
from blockful_py.learning.weights import Weights, aggregate
from blockful_py.types import Paradigm, References
from blockful_py.unlearning.chosen_again import references_of, require_references
from blockful_py.unlearning.cost import Meter
from blockful_py.unlearning.line import (
    first_phase,
    line_start,
    models_on_line,
    stored_line,
    training_phases,
)
from blockful_py.unlearning.method import (
    AllAtOnce,
    Need,
    Outcome,
    Review,
    outcome_of,
)
from blockful_py.unlearning.task import UnlearningTask

LINE = "line"
"""Name of the line's jobs."""


@dataclass(frozen=True, slots=True)
class CleanLine(AllAtOnce):
    """Trains one line of weights along all models that f, the forgotten data, has reached, without f.

    Then every affected model is trained briefly from its clean references:

    `l_0 = mean of the references of these models that f has not reached`, or the shared initialisation
    `l_k = train(l_(k-1), D_k without f)`, k along the models in topological order, twice
    `w'_y = train(mean of c_j over references j, D_y without f)`, in topological order,
    `c_j = w'_j` if j is affected, else the end of the line.

    The line's first phase can be trained when the models are published (`line.store_line`); otherwise the
    request trains it, with the same bits.  The second phase and the models' own trainings take a twentieth of
    retraining's passes each (`line.training_phases`).
    No weight that f has reached is used, so no bit of w' depends on the forgotten samples.  If an owner keeps
    no samples, its training returns the initial weights.

    `references`: "kept", or "chosen again" by eq. 1 (`chosen_again`); models scored are then w'_j, the end of
    the line where f has reached j without affecting it, and published weights elsewhere.  The line begins at
    the mean of all candidates that f has not reached.
    """

    references: str = References.KEPT
    name: ClassVar[str] = "clean_line"
    paradigms: ClassVar[frozenset[Paradigm]] = frozenset({Paradigm.PARALLEL, Paradigm.SEQUENTIAL})
    needs: ClassVar[frozenset[Need]] = frozenset({Need.START_DATA, Need.DESCENDANT_DATA, Need.HOLDERS_DATA})
    levels: ClassVar[frozenset[Level]] = frozenset(LEVELS)
    review: ClassVar[Review] = Review.REMEASURED

    def __post_init__(self) -> None:
        require_references(self.references)

    def unlearn(self, task: UnlearningTask) -> Outcome:
        task.require_samples()
        began, settled = perf_counter(), references_of(task, self.references)
        task = settled.task
        meter = Meter()
        names = models_on_line(task)
        start = line_start(task, names, settled.above)
        first, second, own = training_phases(task, names)
        line = stored_line(task, names, start)
        with meter.job(LINE) if line is None else meter.preparation() as work:
            work.trained(sum(first.samples(task, name) for name in names))
        if line is None:
            line = first_phase(task, names, start, first)
        with meter.job(LINE) as work:
            work.trained(sum(second.samples(task, name) for name in names))
        line = second.train(task, names, line, final=0.0)
        drawn = perf_counter()
        weights: dict[str, Weights] = {}
        for name in task.affected():
            with meter.job(name, after=(LINE, *settled.above(name))) as work:
                settled.choose(name, {**dict.fromkeys(names, line), **weights}, work)
                references = task.references(name)
                begin = aggregate([weights.get(each, line) for each in references]) if references else line
                weights[name] = own.train(task, [name], begin, final=0.0)
                work.trained(own.samples(task, name))
        seconds = {LINE: drawn - began, self.name: perf_counter() - drawn}
        outcome = outcome_of(task, weights, meter.cost(), seconds)
        return replace(outcome, references=settled.of_affected())
