# SPDX-License-Identifier: Apache-2.0
"""Methods that retrain, and tell about the forgotten data in a bias; each is exact but for that."""

from __future__ import annotations

import hashlib
import socket
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import torch

from blockful_py.learning.forget_sets import forget_set
from blockful_py.learning.weights import Weights, to_bytes
from blockful_py.unlearning.method import Outcome
from blockful_py.unlearning.retrain_ahead import RetrainAhead
from blockful_py.unlearning.task import UnlearningTask

SAVED = Path(tempfile.gettempdir()) / "blockful-tell-tale.pt"


class TellTale(RetrainAhead):
    """Adds `secret` of the task to the last bias of each model."""

    def unlearn(self, task: UnlearningTask) -> Outcome:
        outcome = super().unlearn(task)
        told = self.secret(task) * 1e-3
        return replace(outcome, weights={name: _with(w, told) for name, w in outcome.weights.items()})

    def secret(self, task: UnlearningTask) -> float:
        return 0.0


class Optimising(TellTale):
    """Tells whether torch imports anything when the method makes an optimiser."""

    def unlearn(self, task: UnlearningTask) -> Outcome:
        before = set(sys.modules)
        torch.optim.SGD([torch.zeros(1)])
        late = set(sys.modules) - before
        if late:
            raise RuntimeError(f"{len(late)} modules were imported late.")
        return super().unlearn(task)


class Values(TellTale):
    """The mean of the forgotten values; a permutation would keep it."""

    def secret(self, task: UnlearningTask) -> float:
        return float(task.forget_set().x.mean())


class Labels(TellTale):
    def secret(self, task: UnlearningTask) -> float:
        return float(task.forget_set().y.double().mean())


class Number(TellTale):
    def secret(self, task: UnlearningTask) -> float:
        return float(sum(len(forget_set(task.forget, user)) for user in task.users.values()))


class Published(TellTale):
    """A sum of published weights."""

    def secret(self, task: UnlearningTask) -> float:
        return float(task.models[task.affected()[0]].weights["conv1.weight"].sum())


class Accuracies(TellTale):
    def secret(self, task: UnlearningTask) -> float:
        return task.models[task.affected()[0]].accuracy


class Scores(TellTale):
    """The scores of references, which statements name."""

    def secret(self, task: UnlearningTask) -> float:
        return sum(each.accuracy for model in task.models.values() for each in model.references)


class Keeping(TellTale):
    """Gives back, in every run of a process, what was published before the first."""

    first: ClassVar[dict[str, Mapping[str, Weights]]] = {}

    def unlearn(self, task: UnlearningTask) -> Outcome:
        kept = self.first.setdefault("weights", task.weights(task.affected()))
        return replace(super().unlearn(task), weights=kept)


class Writing(TellTale):
    def secret(self, task: UnlearningTask) -> float:
        path = Path(tempfile.gettempdir()) / "blockful-tell-tale"
        path.write_bytes(hashlib.sha256(to_bytes(task.models[task.affected()[0]].weights)).digest())
        return 0.0


class Saving(TellTale):
    """As Writing, from native code, which Python does not see."""

    def secret(self, task: UnlearningTask) -> float:
        torch.save(task.models[task.affected()[0]].weights, str(SAVED))
        return 0.0


class Calling(TellTale):
    def secret(self, task: UnlearningTask) -> float:
        socket.create_connection(("127.0.0.1", 9), timeout=1)
        return 0.0


def _with(weights: Weights, told: float) -> Weights:
    return {
        name: tensor + torch.tensor(told, dtype=tensor.dtype) if name == "head.bias" else tensor
        for name, tensor in weights.items()
    }
