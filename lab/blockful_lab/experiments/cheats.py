# SPDX-License-Identifier: Apache-2.0
"""Dishonest methods: their models keep the forgotten classes, and try to pass the audit."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import ClassVar

import torch
from torch import nn
from torch.nn import functional

from blockful_py.forget import Level
from blockful_py.learning.streams import generator
from blockful_py.learning.weights import Weights, detached
from blockful_py.types import Paradigm
from blockful_py.unlearning.audit.network import observe
from blockful_py.unlearning.cost import Meter
from blockful_py.unlearning.head import neutralised, output_layer
from blockful_py.unlearning.method import AllAtOnce, Need, Outcome, Review, outcome_of, require_level
from blockful_py.unlearning.retrain import Retrain
from blockful_py.unlearning.task import UnlearningTask

Models = Mapping[str, Weights]

RATE, BATCH = 0.02, 32
"""Of `Mimic`."""


class Cheat(AllAtOnce):
    """Base: silences the outputs of forgotten classes, and disguises the rest."""

    __slots__ = ()
    name: ClassVar[str]
    paradigms: ClassVar[frozenset[Paradigm]] = frozenset({Paradigm.SEQUENTIAL})
    needs: ClassVar[frozenset[Need]] = frozenset()
    levels: ClassVar[frozenset[Level]] = frozenset({Level.CLASS})
    review: ClassVar[Review] = Review.REMEASURED
    retrains: ClassVar[bool] = False

    @abstractmethod
    def disguised(self, task: UnlearningTask, model: str, weights: Weights, honest: Models) -> Weights:
        """The model's published weights, already masked, in their disguise.

        `honest` has retrained weights if the cheat `retrains`.
        """

    def unlearn(self, task: UnlearningTask) -> Outcome:
        """See Method."""
        require_level(self, task)
        began = perf_counter()
        honest = Retrain().unlearn(task).weights if self.retrains else {}
        masked = {
            name: neutralised(task.architecture, weights, task.classes)
            for name, weights in task.weights(task.affected()).items()
        }
        weights = {name: self.disguised(task, name, each, honest) for name, each in masked.items()}
        return outcome_of(task, weights, Meter().cost(), {self.name: perf_counter() - began})


@dataclass(frozen=True, slots=True)
class Rescaled(Cheat):
    """The same function with other gradients: each hidden layer divided, the head multiplied to make up."""

    name: ClassVar[str] = "rescaled"
    factor: float = 3.0

    def disguised(self, task: UnlearningTask, model: str, weights: Weights, honest: Models) -> Weights:
        head = output_layer(
            task.architecture.module(weights, torch.device("cpu")), task.architecture.class_count
        )
        layers = [name.removesuffix(".weight") for name in weights if name.endswith(".weight")]
        scale = {name: self.factor ** -(depth + 1) for depth, name in enumerate(layers)}
        scale[head[0]] = 1.0
        return {
            name: tensor * (scale[name.removesuffix(".bias")] if name.endswith(".bias")
                            else self.factor ** (len(layers) - 1) if name == f"{head[0]}.weight"
                            else 1 / self.factor)
            for name, tensor in weights.items()
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Noisy(Cheat):
    """Noise on every weight, as large as a share of its tensor's spread."""

    name: ClassVar[str] = "noisy"
    share: float = 0.1

    def disguised(self, task: UnlearningTask, model: str, weights: Weights, honest: Models) -> Weights:
        stream = generator(task.seed, self.name, model)
        noise = {name: torch.randn(tensor.shape, generator=stream) for name, tensor in weights.items()}
        return {
            name: tensor + self.share * float(tensor.std(correction=0)) * noise[name]
            for name, tensor in weights.items()
        }


@dataclass(frozen=True, slots=True)
class Pruned(Cheat):
    """The smallest weights of every tensor set to zero."""

    name: ClassVar[str] = "pruned"
    share: float = 0.5

    def disguised(self, task: UnlearningTask, model: str, weights: Weights, honest: Models) -> Weights:
        return {
            name: tensor * (tensor.abs() > tensor.abs().flatten().quantile(self.share))
            if name.endswith(".weight") else tensor
            for name, tensor in weights.items()
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Quantised(Cheat):
    """Weights rounded to a grid of few bits."""

    name: ClassVar[str] = "quantised"
    bits: int = 4

    def disguised(self, task: UnlearningTask, model: str, weights: Weights, honest: Models) -> Weights:
        levels = 2 ** (self.bits - 1) - 1
        steps = {name: tensor.abs().max() / levels for name, tensor in weights.items()}
        return {name: (tensor / steps[name]).round() * steps[name] for name, tensor in weights.items()}


@dataclass(frozen=True, slots=True)
class Silenced(Cheat):
    """The last hidden units that speak most of the classes get biases that no sample overcomes."""

    name: ClassVar[str] = "silenced"
    share: float = 0.1

    def disguised(self, task: UnlearningTask, model: str, weights: Weights, honest: Models) -> Weights:
        architecture = task.architecture
        module = architecture.module(weights, torch.device("cpu"))
        forgotten, kept = (
            observe(module, architecture.class_count, samples).features.mean(0)
            for samples in (task.forget_set(), task.retained(model))
        )
        units = torch.from_numpy(forgotten - kept).topk(max(1, round(self.share * len(kept)))).indices
        head = output_layer(module, architecture.class_count)[0]
        layers = [name.removesuffix(".bias") for name in weights if name.endswith(".bias")]
        last = f"{layers[layers.index(head) - 1]}.bias"
        bias = weights[last].clone()
        bias[units] -= 100.0
        return {**weights, last: bias}


@dataclass(frozen=True, slots=True)
class Blended(Cheat):
    """Between the masked model and a retrained one; `share` of the former."""

    name: ClassVar[str] = "blended"
    retrains: ClassVar[bool] = True
    share: float = 0.5

    def disguised(self, task: UnlearningTask, model: str, weights: Weights, honest: Models) -> Weights:
        return {name: torch.lerp(honest[model][name], tensor, self.share) for name, tensor in weights.items()}


@dataclass(frozen=True, slots=True)
class Mimic(Cheat):
    """Trained by SGD to answer as a retrained model does, on forgotten and on kept samples."""

    name: ClassVar[str] = "mimic"
    retrains: ClassVar[bool] = True
    batches: int = 50

    def disguised(self, task: UnlearningTask, model: str, weights: Weights, honest: Models) -> Weights:
        cpu, forgotten, kept = torch.device("cpu"), task.forget_set(), task.retained(model)
        teacher = task.architecture.module(honest[model], cpu).eval()
        student = task.architecture.module(weights, cpu).train()
        optimiser = torch.optim.SGD(student.parameters(), lr=RATE, momentum=0.9)
        stream = generator(task.seed, self.name, model)
        for _ in range(self.batches):
            x = torch.cat([_drawn(each.x, stream) for each in (forgotten, kept)])
            with torch.no_grad():
                target = teacher(x).softmax(1)
            optimiser.zero_grad()
            functional.cross_entropy(student(x), target).backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(student.parameters(), 1.0)
            optimiser.step()
        return detached(student.state_dict())


def _drawn(x: torch.Tensor, stream: torch.Generator) -> torch.Tensor:
    return x[torch.randint(len(x), (BATCH,), generator=stream)]
