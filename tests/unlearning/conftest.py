# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch

from blockful_py.forget import Forget
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.learning.data import Dataset
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.federation import FederationSpec, initial_weights, train_federation
from blockful_py.learning.models import Architecture
from blockful_py.learning.partitions import Division, partition
from blockful_py.settings import FederationSettings, TrainingSettings
from blockful_py.unlearning.task import UnlearningTask

FORGET = (3,)
STARTS = ("r5", "r7")


@dataclass(frozen=True)
class UnlearningCase:
    """A trained federation and the request that everything is measured on."""

    dataset: Dataset
    task: UnlearningTask


def trained(federation: FederationSettings, epochs: int) -> UnlearningCase:
    dataset = load_dataset("digits", 0, torch.device("cpu"))
    users = partition(dataset, Division(federation, (5, 7), FORGET), 0)
    architecture = Architecture("cnn", dataset.input_shape, dataset.class_count)
    settings = FederationSpec(architecture, federation, TrainingSettings(epochs=epochs))
    models = {model.name: model for wave in train_federation(settings, users) for model in wave}
    references = {name: [reference.name for reference in model.references] for name, model in models.items()}
    return UnlearningCase(
        dataset,
        UnlearningTask(
            graph=InheritanceGraph.from_references(references),
            models=models,
            users={user.index: user for user in users},
            architecture=architecture,
            initial=initial_weights(settings),
            starts=STARTS,
            forget=Forget.of_classes(FORGET),
            seed=0,
        ),
    )


@pytest.fixture(scope="session")
def few() -> UnlearningCase:
    """Only users 5 and 7 hold the class; the settings of the demo."""
    return trained(FederationSettings(), TrainingSettings().epochs)


@pytest.fixture(scope="session")
def everyone() -> UnlearningCase:
    """All users hold the class; two rounds, in which accuracy chooses."""
    return trained(FederationSettings("organic", "all_hold", rounds=2), 2)


@pytest.fixture(scope="session")
def tiny() -> UnlearningCase:
    """Four users, five classes; all hold all."""
    from tests.unlearning.toys import toy

    return toy()


@pytest.fixture(scope="session")
def settings(tiny: UnlearningCase) -> FederationSpec:
    """What `tiny` was trained with."""
    from tests.unlearning.toys import FEDERATION

    phi = TrainingSettings(epochs=5)
    return FederationSpec(tiny.task.architecture, FEDERATION, phi, root_factor=1, starting_users=(2,))
