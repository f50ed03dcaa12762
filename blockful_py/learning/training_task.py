# SPDX-License-Identifier: Apache-2.0
"""Trainings as tasks of an engine: each stack or single model is one task.

A result has the bits of `fit_together` in this process, because the worker configures torch in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import torch
from safetensors import torch as safetensors_torch

from blockful_py.engine.journaled_tasks import JournaledTasks
from blockful_py.engine.tasks import EngineTask
from blockful_py.errors import LearningError
from blockful_py.learning.curves import Curve
from blockful_py.learning.gpu_share import training_share
from blockful_py.learning.models import Architecture
from blockful_py.learning.stack_training import Schedule
from blockful_py.learning.task_network import network_of, samples_bytes, samples_from, told
from blockful_py.learning.together import TrainingJob, fit_together, units_of
from blockful_py.learning.training import Fitted
from blockful_py.learning.weights import from_bytes, to_bytes
from blockful_py.settings import PrivacySettings, TrainingSettings

WEIGHTS, LOSS, ACCURACY = "weights", "loss", "accuracy"
"""Parts of a result, a safetensors file: `i/weights/name`, `i/loss` and `i/accuracy` of model i."""


class TaskFitter:
    """Substitute for `fit_together` that trains on an engine."""

    def __init__(self, tasks: JournaledTasks) -> None:
        self._tasks = tasks
        self._shares: dict[tuple[Architecture, Schedule, int], float] = {}

    def __call__(self, architecture: Architecture, jobs: Sequence[TrainingJob]) -> tuple[Fitted, ...]:
        """Trains every job on the engine.  Raises as `fit_together` and `JournaledTasks.results`."""
        units = units_of(architecture, jobs)
        tasks = [self._task(architecture, [jobs[i] for i in rows]) for rows in units]
        done: dict[int, Fitted] = {}
        for place, result in self._tasks.results(tasks):
            done.update(zip(units[place], fitted_from_bytes(result), strict=True))
        return tuple(done[i] for i in range(len(jobs)))

    def _task(self, architecture: Architecture, jobs: Sequence[TrainingJob]) -> EngineTask:
        store = self._tasks.store
        network = told(architecture, jobs[0].samples.x.device, self._tasks.counts_cards)
        files = [(to_bytes(job.weights), samples_bytes(job.samples)) for job in jobs]
        return EngineTask(
            title=f"train {len(jobs)} models",
            function=f"{__name__}:{train_models.__name__}",
            settings={**network, "training": asdict(jobs[0].settings)},
            inputs=tuple(store.add(file) for pair in files for file in pair),
            seeds=tuple(_seed(job) for job in jobs),
            cpus=network["threads"],
            gpu=self._gpu_share(architecture, jobs),
        )

    def _gpu_share(self, architecture: Architecture, jobs: Sequence[TrainingJob]) -> float:
        """The GPU share of jobs, measured once per architecture, schedule and number of jobs."""
        schedule = Schedule.of(jobs[0].settings, len(jobs[0].samples))
        alike = (architecture, schedule, len(jobs))
        if alike not in self._shares:
            self._shares[alike] = training_share(architecture, jobs)
        return self._shares[alike]


def _seed(job: TrainingJob) -> int:
    """The seed of the job's stream.  Raises LearningError if the stream has been drawn from."""
    seed = job.stream.initial_seed()
    if not torch.equal(torch.Generator("cpu").manual_seed(seed).get_state(), job.stream.get_state()):
        raise LearningError("a training needs a fresh stream, but this one has been used: make another.")
    return seed


def train_models(settings: Mapping[str, Any], inputs: Sequence[bytes], seeds: Sequence[int]) -> bytes:
    """A `TaskFunction` that trains models at once.

    Args:
        inputs: initial weights and samples of each model.
        seeds: seed of each model's stream.

    Raises as `fit_together`.
    """
    architecture, device = network_of(settings)
    training = _training(settings["training"])
    jobs = [
        TrainingJob(
            from_bytes(start),
            samples_from(samples, device),
            training,
            torch.Generator("cpu").manual_seed(seed),
        )
        for start, samples, seed in zip(inputs[::2], inputs[1::2], seeds, strict=True)
    ]
    return fitted_to_bytes(fit_together(architecture, jobs))


def fitted_to_bytes(models: Sequence[Fitted]) -> bytes:
    """Serialises weights and curves of trained models, bit for bit."""
    tensors = {}
    for i, fitted in enumerate(models):
        for name, tensor in fitted.weights.items():
            tensors[f"{i}/{WEIGHTS}/{name}"] = tensor.contiguous()
        if fitted.curve is not None:
            tensors[f"{i}/{LOSS}"] = torch.tensor(fitted.curve.loss, dtype=torch.float64)
            tensors[f"{i}/{ACCURACY}"] = torch.tensor(fitted.curve.accuracy, dtype=torch.float64)
    return safetensors_torch.save(tensors)


def fitted_from_bytes(data: bytes) -> list[Fitted]:
    """Reads the output of `fitted_to_bytes`."""
    tensors = safetensors_torch.load(data)
    count = 1 + max(int(key.partition("/")[0]) for key in tensors)
    return [_fitted(tensors, i) for i in range(count)]


def _fitted(tensors: Mapping[str, torch.Tensor], i: int) -> Fitted:
    start = f"{i}/{WEIGHTS}/"
    weights = {key.removeprefix(start): tensors[key] for key in sorted(tensors) if key.startswith(start)}
    if f"{i}/{LOSS}" not in tensors:
        return Fitted(weights, None)
    loss, accuracy = (tuple(tensors[f"{i}/{part}"].tolist()) for part in (LOSS, ACCURACY))
    return Fitted(weights, Curve(loss, accuracy))


def _training(told: Mapping[str, Any]) -> TrainingSettings:
    privacy = told["privacy"]
    return TrainingSettings(**{**told, "privacy": None if privacy is None else PrivacySettings(**privacy)})
