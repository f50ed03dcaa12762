# SPDX-License-Identifier: Apache-2.0
"""One federation of `benchmarks.federation_device` on one device: its steps and their cost."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from statistics import mean
from time import perf_counter
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor

from blockful_py.forget import Forget
from blockful_py.learning.data import Dataset, Samples
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.evaluation import hits
from blockful_py.learning.federation import FederationSpec, TrainedModel, train_federation
from blockful_py.learning.models import Architecture
from blockful_py.learning.partitions import Division, partition
from blockful_py.learning.weights import Weights, equal
from blockful_py.settings import FederationSettings, TrainingSettings
from blockful_py.unlearning.audit import forget_retain
from blockful_py.unlearning.proxy import balanced_proxy
from blockful_py.unlearning.registry import METHODS, create_method
from blockful_py.unlearning.task import UnlearningTask

CPU = torch.device("cpu")
HOLDERS, STARTS, FORGET = (5, 7), ("r5", "r7"), Forget.of_classes([3])
SEED = 0
MIB = 2**20
Result = TypeVar("Result")


@dataclass(frozen=True)
class Case:
    """A federation of 14 users.

    Attributes:
        side: pixels; 8 are the digits, more the shapes.
        samples: of all users together, before each class is dealt out; None: the whole data set.
        epochs: of a model with references; a root trains three times as long.
        scored: samples that five candidates are scored on.
        threads: of the CPU's side; None: all cores.
        methods: of the requests.
    """

    model: str
    side: int
    samples: int | None
    epochs: int
    rate: float
    scored: int
    threads: int | None = None
    methods: tuple[str, ...] = tuple(METHODS)

    @property
    def name(self) -> str:
        return f"{self.model} {self.side}x{self.side}"


class Runs:
    """Seconds of repeated work, the models of the first run, and whether all had its bits."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.weights: dict[str, Weights] = {}
        self.same_bits = True

    def add(self, weights: Mapping[str, Weights], seconds: float) -> None:
        self.weights = self.weights or dict(weights)
        self.same_bits &= all(equal(weights[name], first) for name, first in self.weights.items())
        self.seconds.append(round(seconds, 4))

    def told(self, architecture: Architecture, held_out: Samples) -> dict[str, Any]:
        """Seconds, and the models' mean AD_f and AD_r."""
        rows = forget_retain(architecture, self.weights, held_out, FORGET.classes, "test").values()
        figures = {part: round(mean(getattr(row, part) for row in rows), 4) for part in ("ad_f", "ad_r")}
        return {"seconds": self.seconds, "same_bits": self.same_bits, **figures}


class Side:
    """One case on one device."""

    def __init__(
        self, case: Case, device: torch.device, together: Literal["auto", "stacked"] = "auto"
    ) -> None:
        data = _data(case)
        federation = FederationSettings()
        self.device = device
        self.scored = (
            (data.test if data.spare is None else data.spare).at(torch.arange(case.scored)).to(device)
        )
        self.data = replace(data, spare=None).to(device)
        self.users = partition(self.data, Division(federation, HOLDERS, FORGET.classes), SEED)
        self.spec = FederationSpec(
            Architecture.of(case.model, data),
            federation,
            TrainingSettings(epochs=case.epochs, learning_rate=case.rate, together=together),
            seed=SEED,
            starting_users=HOLDERS,
        )
        self.threads = case.threads or os.cpu_count() or 1
        self.training = Runs()
        self.requests: dict[str, Runs] = {}
        self.images_a_second: list[float] = []
        self.right: dict[str, Tensor] = {}
        self._models: tuple[TrainedModel, ...] = ()

    def warm_up(self) -> None:
        """Trains the first wave, so that libraries are loaded."""
        next(train_federation(self.spec, self.users))

    def train(self) -> None:
        models, seconds = self._timed(
            lambda: [model for wave in train_federation(self.spec, self.users) for model in wave]
        )
        self.training.add({model.name: model.weights for model in models}, seconds)
        self._models = self._models or tuple(models)

    def ask(self, name: str) -> None:
        """A request by a method, from the models of the first training."""
        proxy = balanced_proxy(self.data.proxy, FORGET, 10)
        task = UnlearningTask.of(self.spec, self._models, self.users, STARTS, FORGET, proxy)
        done = self._timed(lambda: dict(create_method(name).unlearn(task).weights))
        self.requests.setdefault(name, Runs()).add(*done)

    def score(self, models: Mapping[str, Weights]) -> None:
        right, seconds = self._timed(lambda: hits(self.spec.architecture, models, self.scored))
        self.right = {name: each.cpu() for name, each in right.items()}
        self.images_a_second.append(round(len(models) * len(self.scored) / seconds, 1))

    def memory(self) -> dict[str, int]:
        """MiB of the GPU that this process takes: beside torch's allocator, and by it at most while it trains
        the first wave.
        """
        free, total = torch.cuda.mem_get_info(self.device)
        beside = total - free - torch.cuda.memory_reserved(self.device)
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(self.device)
        self.warm_up()
        reserved = torch.cuda.max_memory_reserved(self.device)
        return {"beside": beside // MIB, "reserved": reserved // MIB}

    def _timed(self, work: Callable[[], Result]) -> tuple[Result, float]:
        torch.set_num_threads(self.threads)
        self._wait()
        began = perf_counter()
        result = work()
        self._wait()
        return result, perf_counter() - began

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


def _data(case: Case) -> Dataset:
    data = load_dataset("digits" if case.side == 8 else "shapes", SEED, CPU)
    if case.side == 32:
        data = data.each(lambda part: Samples(_doubled(part.x), part.y))
    if case.samples is None:
        return data
    return replace(data, train=data.train.at(torch.arange(case.samples)))


def _doubled(x: Tensor) -> Tensor:
    return x.repeat_interleave(2, -2).repeat_interleave(2, -1)
