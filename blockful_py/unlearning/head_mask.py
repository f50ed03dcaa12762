# SPDX-License-Identifier: Apache-2.0
"""Negative control: removes classes from the output layer without forgetting them."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import ClassVar

from blockful_py.forget import Level
from blockful_py.types import Paradigm
from blockful_py.unlearning.cost import Meter
from blockful_py.unlearning.head import neutralised
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
class HeadMask(AllAtOnce):
    """Sets `w_f = 0, b_f = -5` in the output layer of every affected model.

    AD_f is 0, but the features keep all knowledge: an audit must flag it, and no member signs it.
    """

    name: ClassVar[str] = "head_mask"
    paradigms: ClassVar[frozenset[Paradigm]] = frozenset({Paradigm.PARALLEL, Paradigm.SEQUENTIAL})
    needs: ClassVar[frozenset[Need]] = frozenset()
    levels: ClassVar[frozenset[Level]] = frozenset({Level.CLASS})
    review: ClassVar[Review] = Review.NONE

    def unlearn(self, task: UnlearningTask) -> Outcome:
        require_level(self, task)
        began = perf_counter()
        weights = {
            name: neutralised(task.architecture, task.models[name].weights, task.classes)
            for name in task.affected()
        }
        return outcome_of(task, weights, Meter().cost(), {"mask": perf_counter() - began})
