# SPDX-License-Identifier: Apache-2.0
"""A federation of five users that all hold the class, and the bench of its request."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import torch

from blockful_py.forget import Forget
from blockful_py.learning.data import Dataset
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.federation import FederationSpec, train_federation
from blockful_py.learning.models import Architecture
from blockful_py.learning.partitions import Division, partition
from blockful_py.settings import FederationSettings, TrainingSettings
from blockful_py.unlearning.audit import Bench, audit_samples, prepare
from blockful_py.unlearning.task import UnlearningTask
from blockful_py.verdicts.figures import Row

FORGET = 3
GRAPH: Mapping[str, tuple[str, ...]] = {
    "r1": (),
    "r2": (),
    "r3": ("r1", "r2"),
    "r4": ("r1", "r3"),
    "r5": ("r3", "r4"),
}


@pytest.fixture(scope="package")
def dataset() -> Dataset:
    return load_dataset("digits", 0, torch.device("cpu"))


def request_to(dataset: Dataset, forget: Forget, starts: tuple[str, ...] = ("r1",)) -> UnlearningTask:
    """The users' federation, and a request on it."""
    federation = FederationSettings("scripted", "all_hold", users=5, graph=GRAPH)
    users = partition(dataset, Division(federation, (1,), (FORGET,)), 0)
    settings = FederationSpec(
        Architecture("cnn", dataset.input_shape, dataset.class_count),
        federation,
        TrainingSettings(epochs=8, learning_rate=0.05),
        root_factor=2,
    )
    models = [model for wave in train_federation(settings, users) for model in wave]
    return UnlearningTask.of(settings, models, users, starts, forget)


@pytest.fixture(scope="package")
def task(dataset: Dataset) -> UnlearningTask:
    return request_to(dataset, Forget.of_classes([FORGET]))


@pytest.fixture(scope="package")
def bench(task: UnlearningTask, dataset: Dataset) -> Bench:
    return prepare(task, audit_samples(task, dataset))


@pytest.fixture(scope="package")
def references(bench: Bench) -> dict[str, Row]:
    return {row.method: row for row in bench.references()}
