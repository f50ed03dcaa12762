# SPDX-License-Identifier: Apache-2.0
"""A federation of four users, all of whom hold every class; it trains in a second.

a -> b -> c -> d,  a -> c,  b -> d        start: b        affected: b, c, d
"""

from __future__ import annotations

from dataclasses import replace

import torch

from blockful_py.forget import Forget
from blockful_py.learning.data import Dataset
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.federation import FederationSpec, train_federation
from blockful_py.learning.models import Architecture
from blockful_py.learning.partitions import Division, partition
from blockful_py.settings import FederationSettings, TrainingSettings
from blockful_py.unlearning.proxy import balanced_proxy
from blockful_py.unlearning.task import UnlearningTask
from tests.unlearning.conftest import UnlearningCase

GRAPH = {"a": (), "b": ("a",), "c": ("a", "b"), "d": ("b", "c")}
FEDERATION = FederationSettings("scripted", "all_hold", users=4, graph=GRAPH)
CLASSES = 5
FORGET = Forget.of_classes([3])


def toy() -> UnlearningCase:
    """Digits 0 to 4; 3 is to be forgotten."""
    digits = load_dataset("digits", 0, torch.device("cpu"))
    gone = range(CLASSES, 10)
    data = replace(
        digits,
        class_count=CLASSES,
        train=digits.train.without(gone),
        test=digits.test.without(gone),
        proxy=digits.proxy.without(gone),
    )
    return UnlearningCase(data, task_on(data))


def task_on(data: Dataset) -> UnlearningTask:
    users = partition(data, Division(FEDERATION, (2,), FORGET.classes), 0)
    architecture = Architecture("cnn", data.input_shape, data.class_count)
    phi = TrainingSettings(epochs=5)
    settings = FederationSpec(architecture, FEDERATION, phi, root_factor=1, starting_users=(2,))
    models = [model for wave in train_federation(settings, users) for model in wave]
    return UnlearningTask.of(settings, models, users, ["b"], FORGET, balanced_proxy(data.proxy, FORGET, 10))
