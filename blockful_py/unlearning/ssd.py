# SPDX-License-Identifier: Apache-2.0
"""SSD, selective synaptic dampening (Foster, Schoepf and Brintrup, AAAI 2024, arXiv 2308.07707)."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import ClassVar

from blockful_py.forget import LEVELS, Level
from blockful_py.learning.weights import Weights
from blockful_py.types import Paradigm
from blockful_py.unlearning.cost import Meter
from blockful_py.unlearning.fisher import dampened, fisher, require_dampening
from blockful_py.unlearning.fiun import parameters
from blockful_py.unlearning.lending import lent
from blockful_py.unlearning.method import (
    AllAtOnce,
    Need,
    Outcome,
    Review,
    outcome_of,
    require_level,
)
from blockful_py.unlearning.task import UnlearningTask


@dataclass(frozen=True, slots=True)
class Ssd(AllAtOnce):
    """Dampens every affected model on its own, in parallel, by its owner's forgotten samples.

    `w'_i = w_i min(lambda F_i / F^f_i, 1)` where `F^f_i > alpha F_i` (eq. 4 and 5), with F of all the owner's
    data (published with the model) and F^f of the forgotten samples.

    Attributes:
        selection, dampening: alpha, lambda (the authors' values for ResNet18: 10 and 1).
        batch: samples whose mean gradient is squared.

    The constructor raises SettingsError for a setting out of range.
    """

    selection: float = 10.0
    dampening: float = 1.0
    batch: int = 32
    name: ClassVar[str] = "ssd"
    paradigms: ClassVar[frozenset[Paradigm]] = frozenset({Paradigm.PARALLEL, Paradigm.SEQUENTIAL})
    needs: ClassVar[frozenset[Need]] = frozenset(
        {Need.START_DATA, Need.DESCENDANT_DATA, Need.FORGOTTEN_DATA, Need.PUBLISHED_FISHER}
    )
    levels: ClassVar[frozenset[Level]] = frozenset(LEVELS)
    review: ClassVar[Review] = Review.REMEASURED

    def __post_init__(self) -> None:
        require_dampening(self.selection, self.dampening, self.batch)

    def unlearn(self, task: UnlearningTask) -> Outcome:
        require_level(self, task)
        began = perf_counter()
        meter = Meter()
        names = parameters(task, "all")
        weights: dict[str, Weights] = {}
        for name in task.affected():
            published = task.models[name].weights
            with meter.preparation() as work:
                own = fisher(task.architecture, published, task.owner(name).train, self.batch, work)
            with meter.job(name) as work:
                information = fisher(task.architecture, published, lent(task, name), self.batch, work)
            weights[name] = dampened(published, information, own, self.selection, self.dampening, names)
        return outcome_of(task, weights, meter.cost(), {"dampen": perf_counter() - began})
