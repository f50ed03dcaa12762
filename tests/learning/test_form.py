# SPDX-License-Identifier: Apache-2.0
"""The form of an architecture's weights."""

from __future__ import annotations

import pytest
import torch

from blockful_py.learning.form import form_of
from blockful_py.learning.models import Architecture
from blockful_py.learning.weights import to_bytes

ARCHITECTURES = (
    Architecture("cnn", (1, 8, 8), 10),
    Architecture("resnet18", (3, 32, 32), 10),
    Architecture("mobilenet_v2", (3, 32, 32), 7),
)


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda each: each.name)
def test_the_size_is_that_of_the_file(architecture: Architecture) -> None:
    weights = architecture.initial(torch.Generator())
    assert form_of(architecture).size == len(to_bytes(weights))
