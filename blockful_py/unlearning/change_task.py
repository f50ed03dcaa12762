# SPDX-License-Identifier: Apache-2.0
"""Changes of single models as tasks of an engine, one task per independently changed model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from fractions import Fraction
from pkgutil import resolve_name
from typing import Any, cast

import torch

from blockful_py.engine.journaled_tasks import JournaledTasks
from blockful_py.engine.tasks import EngineTask
from blockful_py.learning.evaluation import BATCH
from blockful_py.learning.gpu_share import measured_share
from blockful_py.learning.task_network import (
    file_digest,
    network_of,
    require_source,
    samples_bytes,
    samples_from,
    told,
)
from blockful_py.learning.weights import Weights, from_bytes, to_bytes
from blockful_py.unlearning.cost import Work
from blockful_py.unlearning.model_job import Changing, ModelJob


class TaskChanger:
    """Substitute for `change_here` that changes the models on an engine."""

    def __init__(self, tasks: JournaledTasks) -> None:
        self._tasks = tasks

    def __call__(self, method: Changing, jobs: Iterable[ModelJob]) -> Iterator[tuple[Weights, Fraction]]:
        """Yields the changes of all jobs.  Raises as the method and `JournaledTasks.results`."""
        tasks: list[EngineTask] = []
        for job in jobs:
            share = tasks[0].gpu if tasks else _gpu_share(method, job)
            tasks.append(self._task(method, job, share))
        done = dict(self._tasks.results(tasks))
        for place in range(len(tasks)):
            yield _changed_from(done.pop(place))

    def _task(self, method: Changing, job: ModelJob, share: float) -> EngineTask:
        network = told(job.architecture, job.retained.x.device, self._tasks.counts_cards)
        samples = {"retained": job.retained, "forgotten": job.forgotten, "proxy": job.proxy}
        given = {part: each for part, each in samples.items() if each is not None}
        files = [to_bytes(job.weights), *map(samples_bytes, given.values())]
        return EngineTask(
            title=f"unlearn {job.name}",
            function=f"{__name__}:{change_model.__name__}",
            settings={
                **network,
                "method": f"{type(method).__module__}:{type(method).__qualname__}",
                "method_source": file_digest(type(method)),
                "settings": asdict(cast(Any, method)),
                "model": {"name": job.name, "user": job.user, "round": job.round},
                "classes": list(job.classes),
                "samples": list(given),
            },
            inputs=tuple(map(self._tasks.store.add, files)),
            seeds=(job.seed,),
            cpus=network["threads"],
            gpu=share,
        )


def change_model(settings: Mapping[str, Any], inputs: Sequence[bytes], seeds: Sequence[int]) -> bytes:
    """A `TaskFunction` that changes one model; returns its sample passes, a newline, and the new weights.

    Args:
        inputs: the initial weights, then the samples listed in `settings`.
        seeds: the request's seed.

    Raises as the method and `network_of`, and EngineError if this host has another version of the method.
    """
    architecture, device = network_of(settings)
    made_by = resolve_name(settings["method"])
    require_source(file_digest(made_by), settings["method_source"], f"method {settings['method']!r}")
    samples = {
        part: samples_from(data, device) for part, data in zip(settings["samples"], inputs[1:], strict=True)
    }
    job = ModelJob(
        **settings["model"],
        architecture=architecture,
        weights=from_bytes(inputs[0]),
        retained=samples["retained"],
        forgotten=samples.get("forgotten"),
        proxy=samples.get("proxy"),
        classes=tuple(settings["classes"]),
        seed=seeds[0],
    )
    method: Changing = made_by(**settings["settings"])
    work = Work()
    weights = method.changed(job, work)
    return f"{work.passes}\n".encode() + to_bytes(weights)


def _changed_from(result: bytes) -> tuple[Weights, Fraction]:
    passes, _, weights = result.partition(b"\n")
    return from_bytes(weights), Fraction(passes.decode())


def _gpu_share(method: Changing, job: ModelJob) -> float:
    """GPU share measured on one typical job, reduced to few retained samples."""
    few = job.retained.at(torch.arange(min(BATCH, len(job.retained))))
    return measured_share([job.retained], lambda: method.changed(replace(job, retained=few), Work()))
