# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
import torch

from blockful_py.learning.data import Dataset, UserData
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.models import Architecture
from blockful_py.learning.partitions import Division, partition
from blockful_py.settings import FederationSettings


@pytest.fixture(scope="session")
def digits() -> Dataset:
    return load_dataset("digits", 0, torch.device("cpu"))


@pytest.fixture(scope="session")
def cnn(digits: Dataset) -> Architecture:
    return Architecture("cnn", digits.input_shape, digits.class_count)


@pytest.fixture(scope="session")
def users(digits: Dataset) -> tuple[UserData, ...]:
    return partition(digits, Division(FederationSettings(), (5, 7), (3,)), 0)
