# SPDX-License-Identifier: Apache-2.0
"""PPNR: pass, project, neutralise, repair.  Only the owners of the starts take part."""

from __future__ import annotations

import math
from dataclasses import dataclass
from time import perf_counter
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from blockful_py.errors import SettingsError, UnlearningError
from blockful_py.forget import Level
from blockful_py.learning.data import Samples, pooled
from blockful_py.learning.forget_sets import forget_set
from blockful_py.learning.streams import generator
from blockful_py.learning.weights import Weights
from blockful_py.types import Paradigm
from blockful_py.unlearning.cost import Meter, Work
from blockful_py.unlearning.descent import clipped_descent, weights_of
from blockful_py.unlearning.distill import softened
from blockful_py.unlearning.gradient_ascent import GradientAscent
from blockful_py.unlearning.head import neutralised
from blockful_py.unlearning.method import (
    AllAtOnce,
    Need,
    Outcome,
    Review,
    outcome_of,
    require_level,
)
from blockful_py.unlearning.projection import (
    class_means,
    direction_beyond,
    penultimate_layer,
    without_direction,
)
from blockful_py.unlearning.task import UnlearningTask


@dataclass(frozen=True, slots=True)
class Ppnr(AllAtOnce):
    """Passes the starts' changes with strength alpha (paper, eq. 8), then changes every affected model.

    mu_c is the mean output, float64 (d,), of the penultimate layer (before its activation) on class c.

    - project: `v = mu_f - P mu_f`, P the projection on the span of the retained means;
      `W <- (I - v v^T / |v|^2) W`, and its bias likewise, for every forgotten class f;
    - neutralise: output row of f zero, bias -5;
    - repair: a few steps of SGD on `T^2 KL(p || q)`, p the softened output of the published model with logits
      of forgotten classes at minus infinity, q the softened output of the repaired model.

    The proxy set gives the retained samples; the owners of the starts give a few forgotten ones.

    Attributes:
        alpha: discount factor of the passing, above 0.
        repair_steps, repair_rate, temperature: the rate falls along a cosine to a tenth; momentum 0.9,
            gradients clipped at an L2 norm of 5.
        proxy_samples, forget_samples: numbers of proxy samples, and of samples of each forgotten class, in
            the one batch of all repair steps.

    The constructor raises SettingsError for a setting out of range.
    """

    alpha: float = 0.5
    repair_steps: int = 5
    repair_rate: float = 0.05
    temperature: float = 2.0
    proxy_samples: int = 32
    forget_samples: int = 8
    name: ClassVar[str] = "ppnr"
    paradigms: ClassVar[frozenset[Paradigm]] = frozenset({Paradigm.PARALLEL, Paradigm.SEQUENTIAL})
    needs: ClassVar[frozenset[Need]] = frozenset({Need.START_DATA, Need.FORGOTTEN_DATA, Need.PROXY_DATA})
    levels: ClassVar[frozenset[Level]] = frozenset({Level.CLASS})
    review: ClassVar[Review] = Review.REMEASURED

    def __post_init__(self) -> None:
        if min(self.repair_steps, self.proxy_samples, self.forget_samples) < 1:
            raise SettingsError(
                "repair_steps, proxy_samples and forget_samples must be at least 1, "
                f"not {self.repair_steps}, {self.proxy_samples}, {self.forget_samples}."
            )
        if not (math.isfinite(self.temperature) and self.temperature > 0):
            raise SettingsError(f"temperature must be positive, not {self.temperature}.")
        GradientAscent(alpha=self.alpha)
        clipped_descent(self.repair_rate)

    def unlearn(self, task: UnlearningTask) -> Outcome:
        require_level(self, task)
        proxy, shown = self._proxy(task), self._shown(task)
        meter = Meter()
        began = perf_counter()
        passed = GradientAscent(alpha=self.alpha).run(task, meter)
        reached = perf_counter()
        weights = {}
        for name in task.affected():
            with meter.job(f"repair {name}", after=task.starts) as work:
                projected = self._projected(task, passed.weights[name], proxy, shown, work)
                silent = neutralised(task.architecture, projected, task.classes)
                weights[name] = self._repaired(task, name, silent, proxy, shown, work)
        seconds = {"pass": reached - began, "repair": perf_counter() - reached}
        return outcome_of(task, weights, meter.cost(), seconds)

    def _proxy(self, task: UnlearningTask) -> Samples:
        if task.proxy is None or len(task.proxy) < self.proxy_samples:
            size = 0 if task.proxy is None else len(task.proxy)
            raise UnlearningError(
                f"method {self.name!r} needs a proxy set of at least {self.proxy_samples} labelled samples, "
                f"found {size}: give more, or choose a method without, e.g. clean_increments."
            )
        return task.proxy

    def _shown(self, task: UnlearningTask) -> Samples:
        """The first samples of each forgotten class that the owners of the starts hold."""
        owners = dict.fromkeys(task.models[start].user for start in task.starts)
        held = pooled(forget_set(task.forget, task.users[user]) for user in owners)
        missing = sorted(set(task.classes) - set(held.classes()))
        if missing:
            raise UnlearningError(
                f"the owners of the starts hold no sample of class {', '.join(map(str, missing))}: "
                "start from a model whose owner does."
            )
        each = (held.only([label]) for label in task.classes)
        return pooled(of.at(torch.arange(min(self.forget_samples, len(of)))) for of in each)

    def _projected(
        self, task: UnlearningTask, weights: Weights, proxy: Samples, shown: Samples, work: Work
    ) -> Weights:
        module = work.watch(task.architecture.module(weights, proxy.x.device).eval())
        name, layer = penultimate_layer(module, task.architecture.class_count)
        kept = class_means(module, layer, proxy)
        for mean in class_means(module, layer, shown).values():
            weights = without_direction(weights, name, direction_beyond(mean, kept.values()).cpu())
        return weights

    def _repaired(
        self, task: UnlearningTask, name: str, weights: Weights, proxy: Samples, shown: Samples, work: Work
    ) -> Weights:
        model, device = task.models[name], proxy.x.device
        teacher = work.watch(task.architecture.module(model.weights, device).eval())
        student = work.watch(task.architecture.module(weights, device).train())
        stream = generator(task.seed, self.name, model.user, model.round)
        rows = torch.randperm(len(proxy), generator=stream)[: self.proxy_samples]
        batch = pooled([proxy.at(rows), shown])
        with torch.no_grad():
            told = softened(teacher(batch.x), task.classes, self.temperature)

        def loss(network: nn.Module, samples: Samples) -> Tensor:
            said = functional.log_softmax(network(samples.x) / self.temperature, 1)
            return self.temperature**2 * functional.kl_div(said, told, reduction="batchmean")

        clipped_descent(self.repair_rate).run(student, loss, [batch] * self.repair_steps, stream)
        return weights_of(student, f"the repaired model {name!r}")
