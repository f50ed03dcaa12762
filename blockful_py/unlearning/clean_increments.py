# SPDX-License-Identifier: Apache-2.0
"""Clean-increment passing and healing: parallel unlearning that replaces every holder's training."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import ClassVar

from blockful_py.errors import SettingsError
from blockful_py.forget import LEVELS, Level
from blockful_py.learning.streams import generator
from blockful_py.learning.weights import Weights
from blockful_py.types import Paradigm
from blockful_py.unlearning.cost import Meter, Work
from blockful_py.unlearning.descent import Descent
from blockful_py.unlearning.head import neutralised
from blockful_py.unlearning.healing import heal
from blockful_py.unlearning.increments import (
    Change,
    clean_increments,
    clipped,
    holders,
    passed_on,
    stored_increments,
)
from blockful_py.unlearning.method import (
    AllAtOnce,
    IncrementsUsed,
    Need,
    Outcome,
    Review,
    outcome_of,
    require_level,
)
from blockful_py.unlearning.model_job import ModelJob
from blockful_py.unlearning.propagation import moved
from blockful_py.unlearning.retraining import passes_of
from blockful_py.unlearning.task import UnlearningTask

HEADS = ("kept", "silent")


@dataclass(frozen=True, slots=True)
class CleanIncrements(AllAtOnce):
    """Replaces every holder's training by a clean one, passes the changes through the graph, and heals.

    Passing only the starts' changes keeps the knowledge from other holders' own training.  Therefore every
    holder j trains again, in parallel, from the mean of its published references, without the forgotten
    samples.  One pass over the graph sums the changes that reach each model; a short healing follows:

    `d_j = Train(agg_j, D_j without the forgotten) - w_j`
    `P_y = (1/N_y) sum over references j of (d_j + P_j)`
    `w'_y = heal(w_y + own d_y + passed P_y)`,  heal: SGD on the owner's retained data.

    `own` = 1 replaces the model's own training by a clean one from the same aggregate.  `passed` is below 1,
    because P sums the noise of many trainings.  Unaffected roots train no increment: their training is the
    longest, and its influence is the most diluted.
    Stored increments that fit the task cost nothing at request time; the others are trained.  For single
    samples, seven or eight tenths of the epochs suffice (benchmarks/results/tuning.md).
    Settings of the prototype: `own = passed = 0.4`, `head = "silent"`, `clip = None`, 4 steps of 16.

    Attributes:
        own, passed: factors of d_y and P_y, both float64 (D,), from 0 to 1.
        share: share of a model's epochs that an increment trained at request time takes, in (0, 1].
        clip: maximum L2 norm of d_j, in multiples of the median of all; None for no limit.
        heal_steps: maximum steps of the healing; None means one pass over the owner's retained samples.
            Healing ends earlier if the proxy loss in the classes that the owner keeps stops falling
            (`healing.heal`).
        heal_batch, heal_rate: samples per step, and initial rate, which falls along a cosine to a tenth at
            the maximum step; momentum 0.5, gradients clipped at an L2 norm of 5.
        head: "silent" sets the output row of a forgotten class to zero and its bias to -5 before healing;
            "kept" leaves the output layer as the increments changed it.

    The constructor raises SettingsError for a setting out of range.
    """

    own: float = 1.0
    passed: float = 0.4
    share: float = 1.0
    clip: float | None = 1.3
    heal_steps: int | None = None
    heal_batch: int = 32
    heal_rate: float = 0.08
    head: str = "kept"
    name: ClassVar[str] = "clean_increments"
    paradigms: ClassVar[frozenset[Paradigm]] = frozenset({Paradigm.PARALLEL, Paradigm.SEQUENTIAL})
    levels: ClassVar[frozenset[Level]] = frozenset(LEVELS)
    review: ClassVar[Review] = Review.REMEASURED
    needs: ClassVar[frozenset[Need]] = frozenset(
        {Need.START_DATA, Need.DESCENDANT_DATA, Need.HOLDERS_DATA, Need.PROXY_WHERE_THERE}
    )

    def __post_init__(self) -> None:
        if not (0 <= self.own <= 1 and 0 <= self.passed <= 1):
            raise SettingsError(f"own and passed must be from 0 to 1, not {self.own} and {self.passed}.")
        if not 0 < self.share <= 1:
            raise SettingsError(f"share must be above 0 and at most 1, not {self.share}.")
        if self.clip is not None and not (math.isfinite(self.clip) and self.clip > 0):
            raise SettingsError(f"clip must be positive, not {self.clip}.")
        if (self.heal_steps is not None and self.heal_steps < 0) or self.heal_batch < 1:
            raise SettingsError(
                "heal_steps must be at least 0 and heal_batch at least 1, "
                f"not {self.heal_steps} and {self.heal_batch}."
            )
        if self.head not in HEADS:
            raise SettingsError(f"head must be {' or '.join(HEADS)}, not {self.head!r}.")
        self._descent()

    def unlearn(self, task: UnlearningTask) -> Outcome:
        require_level(self, task)
        meter = Meter()
        began = perf_counter()
        own, used = self._increments(task, meter)
        made = perf_counter()
        passed = passed_on(task, own)
        added = perf_counter()
        weights = {}
        jobs = (task.job(name, self._rough(task, name, own, passed)) for name in task.affected())
        for name, (healed, passes) in zip(task.affected(), task.changer(self, jobs), strict=True):
            weights[name] = healed
            with meter.job(f"heal {name}", after=(name, *task.graph.ancestors([name]))) as work:
                work.passes += passes
        ended = perf_counter()
        seconds = {"increments": made - began, "pass": added - made, "heal": ended - added}
        return replace(outcome_of(task, weights, meter.cost(), seconds), increments=used)

    def _increments(self, task: UnlearningTask, meter: Meter) -> tuple[Mapping[str, Change], IncrementsUsed]:
        names = holders(task)
        usable = stored_increments(task, names)
        made = clean_increments(task, [name for name in names if name not in usable], self.share)
        for name in names:
            stored = name in usable
            with meter.preparation() if stored else meter.job(name) as work:
                work.trained(passes_of(task, name, 1.0 if stored else self.share))
        all_of_them = {name: usable[name] if name in usable else made[name] for name in names}
        if self.clip is not None and all_of_them:
            all_of_them = clipped(all_of_them, self.clip)
        return all_of_them, IncrementsUsed(tuple(usable), tuple(made))

    def _rough(
        self, task: UnlearningTask, name: str, own: Mapping[str, Change], passed: Mapping[str, Change]
    ) -> Weights:
        change = self.passed * passed[name]
        if name in own:
            change = change + self.own * own[name]
        return moved(task.models[name].weights, change)

    def changed(self, job: ModelJob, work: Work) -> Weights:
        """Heals one model."""
        rough, retained = job.weights, job.retained
        if self.head == "silent" and job.classes:
            rough = neutralised(job.architecture, rough, job.classes)
        if not len(retained):
            return rough
        module = work.watch(job.architecture.module(rough, retained.x.device).train())
        return heal(
            module,
            retained,
            None if job.proxy is None else job.proxy.only(retained.classes()),
            self._descent(),
            generator(job.seed, "heal", job.user, job.round),
            self.heal_batch,
            self.heal_steps,
            f"the healed model {job.name!r}",
        )

    def _descent(self) -> Descent:
        return Descent(self.heal_rate, momentum=0.5, clip=5.0)
