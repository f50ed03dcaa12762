# SPDX-License-Identifier: Apache-2.0
"""Certified unlearning: a clipped, noised model trained on retained data (arXiv 2506.06985)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from time import perf_counter
from typing import ClassVar

import numpy as np
import torch
from scipy.special import log_ndtr, ndtr

from blockful_py.errors import SettingsError
from blockful_py.forget import LEVELS, Level
from blockful_py.learning.streams import generator
from blockful_py.learning.together import train_together
from blockful_py.learning.weights import Weights, flatten
from blockful_py.types import Paradigm
from blockful_py.unlearning.cost import Meter
from blockful_py.unlearning.method import (
    AllAtOnce,
    Need,
    Outcome,
    Review,
    outcome_of,
    require_level,
)
from blockful_py.unlearning.propagation import moved
from blockful_py.unlearning.recipe import job_of
from blockful_py.unlearning.retraining import passes_of
from blockful_py.unlearning.task import UnlearningTask


@dataclass(frozen=True, slots=True)
class NoisyRestart(AllAtOnce):
    """Pulls every affected model towards the shared initialisation w_0, adds noise, and trains it again.

    All owners work in parallel and train as long as before, on their retained data:

    `v = w_0 + (w_y - w_0) min(1, radius / |w_y - w_0|)`,
    `w'_y = Train(v + N(0, sigma^2 I), D_y without the forgotten)`.

    For any w_y, v lies within 2 radius of the v of a model without the forgotten knowledge.  With the sigma
    of `gaussian_noise` the two are therefore (epsilon, delta)-indistinguishable, and the training, which
    reads no forgotten sample, cannot undo that.  The guarantee makes no assumption about the loss: it may be
    neither convex nor smooth.  It covers one model: m models together have (m epsilon, m delta).
    It does not cover models that the request leaves unchanged, and it holds only against parties that do not
    know the seed.
    This is the first step of noisy fine-tuning with all of its noise; spread over many steps,
    the noise is smaller.

    Attributes:
        epsilon, delta: parameters of the guarantee.
        radius: maximum L2 distance from w_0 of the clipped model.

    The constructor raises SettingsError for a setting out of range.
    """

    epsilon: float = 1.0
    delta: float = 1e-5
    radius: float = 0.01
    name: ClassVar[str] = "noisy_restart"
    paradigms: ClassVar[frozenset[Paradigm]] = frozenset({Paradigm.PARALLEL, Paradigm.SEQUENTIAL})
    needs: ClassVar[frozenset[Need]] = frozenset({Need.START_DATA, Need.DESCENDANT_DATA})
    levels: ClassVar[frozenset[Level]] = frozenset(LEVELS)
    review: ClassVar[Review] = Review.REMEASURED

    def __post_init__(self) -> None:
        if not (0 < self.epsilon < math.inf and 0 < self.delta < 1 and 0 < self.radius < math.inf):
            raise SettingsError(
                "epsilon and radius must be positive, delta between 0 and 1, "
                f"not {self.epsilon}, {self.radius}, {self.delta}."
            )

    def unlearn(self, task: UnlearningTask) -> Outcome:
        require_level(self, task)
        began = perf_counter()
        weights = {name: self.start_of(task, name) for name in task.affected()}
        teachable = [name for name in weights if task.keeps(name)]
        jobs = [
            job_of(task.models[name], weights[name], task.retained(name), task.seed, self.name)
            for name in teachable
        ]
        trained = train_together(task.architecture, jobs, task.fitter)
        weights.update(zip(teachable, trained, strict=True))
        meter = Meter()
        for name in teachable:
            with meter.job(name) as work:
                work.trained(passes_of(task, name))
        return outcome_of(task, weights, meter.cost(), {self.name: perf_counter() - began})

    def start_of(self, task: UnlearningTask, name: str) -> Weights:
        """Initial weights of a model's training, `v + N(0, sigma^2 I)`; untrained tensors are as in w_0."""
        model = task.models[name]
        change = flatten(model.weights).astype(np.float64) - flatten(task.initial)
        change *= min(1.0, self.radius / max(float(np.linalg.norm(change)), 1e-300))
        stream = generator(task.seed, self.name, "noise", model.user, model.round)
        noise = torch.randn(len(change), generator=stream, dtype=torch.float64).numpy()
        sigma = gaussian_noise(2 * self.radius, self.epsilon, self.delta)
        start, trained = moved(task.initial, change + sigma * noise), task.architecture.trained_names
        return {name: each if name in trained else task.initial[name] for name, each in start.items()}


def gaussian_noise(sensitivity: float, epsilon: float, delta: float) -> float:
    """The smallest sigma with which the Gaussian mechanism is (epsilon, delta)-private.

    `Phi(a - b) - e^epsilon Phi(-a - b) <= delta`, a = sensitivity / (2 sigma), b = epsilon sigma /
    sensitivity (Balle and Wang 2018, theorem 8).

    Args:
        sensitivity: maximum L2 distance between two inputs.
    """

    def spent(sigma: float) -> float:
        a, b = 1 / (2 * sigma), epsilon * sigma
        return float(ndtr(a - b) - math.exp(epsilon + log_ndtr(-a - b)))

    low, high = 0.0, 1.0
    while spent(high) > delta:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if spent(middle) > delta else (low, middle)
    return sensitivity * high
