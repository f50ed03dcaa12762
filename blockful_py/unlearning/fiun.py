# SPDX-License-Identifier: Apache-2.0
"""FIUn, Fisher inheritance unlearning: Fisher information of the starts dampens all descendants at once.

Source: Liu et al., arXiv 2408.08493, by the authors of BlockFUL.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import ClassVar

import torch

from blockful_py.errors import SettingsError
from blockful_py.forget import LEVELS, Level
from blockful_py.learning.models.architecture import trainable
from blockful_py.learning.weights import Weights
from blockful_py.types import Paradigm
from blockful_py.unlearning.cost import Meter
from blockful_py.unlearning.fisher import Fisher, dampened, fisher, merged, require_dampening
from blockful_py.unlearning.head import output_layer
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

__all__ = ["Fiun", "parameters"]

LAYERS = ("head", "all")


@dataclass(frozen=True, slots=True)
class Fiun(AllAtOnce):
    """Dampens every affected model by the Fisher information of the starts above it.

    Each start s gives F^s, the Fisher information of its model on the forgotten samples.  A model y below the
    starts S_y merges them (MFIM) and compares them with its own, on its owner's data D_y:

    `F^f = max over s in S_y of F^s`,  `w'_i = w_i min(lambda F_i(w_y, D_y) / F^f_i, 1)` where
    `F^f_i > alpha F_i(w_y, D_y)`.

    F(w_y, D_y) is published with the model, so a request costs only the starts' computation.  The authors'
    code changes only the output layer; its alpha is 3 for one start and 1 for several.

    Attributes:
        selection, dampening: alpha, lambda.
        layers: "head" (the output layer) or "all".
        batch: samples whose mean gradient is squared.

    The constructor raises SettingsError for a setting out of range.
    """

    selection: float = 3.0
    dampening: float = 1.0
    layers: str = "head"
    batch: int = 32
    name: ClassVar[str] = "fiun"
    paradigms: ClassVar[frozenset[Paradigm]] = frozenset({Paradigm.PARALLEL, Paradigm.SEQUENTIAL})
    needs: ClassVar[frozenset[Need]] = frozenset({Need.START_DATA, Need.PUBLISHED_FISHER})
    levels: ClassVar[frozenset[Level]] = frozenset(LEVELS)
    review: ClassVar[Review] = Review.REMEASURED

    def __post_init__(self) -> None:
        if self.layers not in LAYERS:
            raise SettingsError(f"layers must be {' or '.join(LAYERS)}, not {self.layers!r}.")
        require_dampening(self.selection, self.dampening, self.batch)

    def unlearn(self, task: UnlearningTask) -> Outcome:
        require_level(self, task)
        began = perf_counter()
        meter = Meter()
        starts: dict[str, Fisher] = {}
        for name in task.starts:
            with meter.job(name) as work:
                starts[name] = fisher(
                    task.architecture, task.models[name].weights, lent(task, name), self.batch, work
                )
        known = perf_counter()
        names = parameters(task, self.layers)
        weights: dict[str, Weights] = {}
        for name in task.affected():
            above = {name, *task.graph.ancestors([name])}
            published = task.models[name].weights
            with meter.preparation() as work:
                own = fisher(task.architecture, published, task.owner(name).train, self.batch, work)
            information = merged([matrix for start, matrix in starts.items() if start in above])
            weights[name] = dampened(published, information, own, self.selection, self.dampening, names)
        seconds = {"starts": known - began, "dampen": perf_counter() - known}
        return outcome_of(task, weights, meter.cost(), seconds)


def parameters(task: UnlearningTask, layers: str) -> tuple[str, ...]:
    """Names of the parameters of the output layer ("head"), or of all layers ("all").

    Raises UnlearningError: "head", but the network does not end in a linear layer.
    """
    module = task.architecture.module(task.initial, torch.device("cpu"))
    if layers == "all":
        return tuple(trainable(module))
    head, layer = output_layer(module, task.architecture.class_count)
    return tuple(f"{head}.{key}" for key in trainable(layer))
