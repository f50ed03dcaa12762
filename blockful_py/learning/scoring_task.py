# SPDX-License-Identifier: Apache-2.0
"""Scoring of models as tasks of an engine: each model outside a stack is one task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from blockful_py.engine.journaled_tasks import JournaledTasks
from blockful_py.engine.tasks import EngineTask
from blockful_py.learning.data import Samples
from blockful_py.learning.evaluation import hits
from blockful_py.learning.gpu_share import scoring_share
from blockful_py.learning.models import Architecture
from blockful_py.learning.stacked import stacks_well
from blockful_py.learning.task_network import network_of, samples_bytes, samples_from, told
from blockful_py.learning.weights import Weights, from_bytes, to_bytes


class TaskScorer:
    """Substitute for `hits` that scores models on an engine; models that stack well are scored here."""

    def __init__(self, tasks: JournaledTasks) -> None:
        self._tasks = tasks

    def __call__(
        self, architecture: Architecture, models: Mapping[str, Weights], samples: Samples
    ) -> dict[str, Tensor]:
        """Hits of every model.  Raises as `hits` and `JournaledTasks.results`."""
        device = samples.x.device
        if not models or stacks_well(architecture, device):
            return hits(architecture, models, samples)
        store, names = self._tasks.store, list(models)
        asked = store.add(samples_bytes(samples))
        settings = told(architecture, device, self._tasks.counts_cards)
        tasks = [
            EngineTask(
                title=f"measure {name}",
                function=f"{__name__}:{score_model.__name__}",
                settings=settings,
                inputs=(store.add(to_bytes(models[name])), asked),
                cpus=settings["threads"],
                gpu=scoring_share(architecture, models[name], samples),
            )
            for name in names
        ]
        scored = {names[place]: result for place, result in self._tasks.results(tasks)}
        return {name: _from_bytes(scored[name], device) for name in names}


def score_model(settings: Mapping[str, Any], inputs: Sequence[bytes], seeds: Sequence[int]) -> bytes:
    """A `TaskFunction` that returns one byte per sample, 1 if the model classifies it correctly.

    Args:
        inputs: weights and samples.

    Raises as `hits` and `network_of`.
    """
    architecture, device = network_of(settings)
    right = hits(architecture, {"": from_bytes(inputs[0])}, samples_from(inputs[1], device))[""]
    return right.to(torch.uint8).cpu().numpy().tobytes()


def _from_bytes(data: bytes, device: torch.device) -> Tensor:
    return torch.frombuffer(bytearray(data), dtype=torch.uint8).to(device, torch.float64)
