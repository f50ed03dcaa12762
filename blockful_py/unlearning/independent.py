# SPDX-License-Identifier: Apache-2.0
"""The common part of methods that change every affected model independently, in parallel."""

from __future__ import annotations

from abc import abstractmethod
from time import perf_counter
from typing import ClassVar

import torch
from torch import nn

from blockful_py.forget import LEVELS, Level
from blockful_py.learning.streams import generator
from blockful_py.learning.weights import Weights
from blockful_py.types import Paradigm
from blockful_py.unlearning.cost import Meter, Work
from blockful_py.unlearning.lending import lent
from blockful_py.unlearning.method import AllAtOnce, Need, Outcome, Review, outcome_of, require_level
from blockful_py.unlearning.model_job import ModelJob
from blockful_py.unlearning.task import UnlearningTask


class Independent(AllAtOnce):
    """Base of methods whose dataclass says how one model changes."""

    __slots__ = ()
    name: ClassVar[str]
    needs: ClassVar[frozenset[Need]]
    paradigms: ClassVar[frozenset[Paradigm]] = frozenset({Paradigm.PARALLEL, Paradigm.SEQUENTIAL})
    levels: ClassVar[frozenset[Level]] = frozenset(LEVELS)
    review: ClassVar[Review] = Review.REMEASURED

    @abstractmethod
    def changed(self, job: ModelJob, work: Work) -> Weights:
        """See Changing."""

    def unlearn(self, task: UnlearningTask) -> Outcome:
        """See Method.  Raises UnlearningError too if nobody has forgotten samples to lend."""
        require_level(self, task)
        began = perf_counter()
        meter = Meter()
        names, lends = task.affected(), Need.FORGOTTEN_DATA in self.needs
        jobs = (
            task.job(name, task.models[name].weights, lent(task, name) if lends else None) for name in names
        )
        weights = {}
        for name, (changed, passes) in zip(names, task.changer(self, jobs), strict=True):
            weights[name] = changed
            with meter.job(name) as work:
                work.passes += passes
        return outcome_of(task, weights, meter.cost(), {self.name: perf_counter() - began})

    def in_training(self, job: ModelJob, work: Work) -> tuple[nn.Module, torch.Generator]:
        """The job's network in training mode, counted by `work`, and the method's stream for the job."""
        module = job.architecture.module(job.weights, job.retained.x.device).train()
        return work.watch(module), generator(job.seed, self.name, job.user, job.round)
