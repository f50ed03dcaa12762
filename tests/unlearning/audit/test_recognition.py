# SPDX-License-Identifier: Apache-2.0
"""A model tells samples that it learnt by heart from others; one that learnt nothing does not."""

from __future__ import annotations

import pytest
import torch

from blockful_py.learning.data import Samples
from blockful_py.learning.models import Architecture
from blockful_py.learning.weights import Weights
from blockful_py.unlearning.audit.exposure import auc
from blockful_py.unlearning.audit.network import observe
from blockful_py.unlearning.audit.recognition import recognition

ARCHITECTURE = Architecture("cnn", (1, 8, 8), 3)


def samples(count: int, seed: int) -> Samples:
    stream = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 1, 8, 8, generator=stream)
    return Samples(x, torch.arange(count) % 3)


def learnt(data: Samples, steps: int) -> Weights:
    weights = ARCHITECTURE.initial(torch.Generator().manual_seed(0))
    module = ARCHITECTURE.module(weights, torch.device("cpu"))
    optimiser = torch.optim.Adam(module.parameters(), 0.01)
    for _ in range(steps):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(module(data.x), data.y).backward()
        optimiser.step()
    return {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}


def test_what_was_learnt_by_heart_is_recognised() -> None:
    trained, unseen = samples(24, 1), samples(24, 2)
    models = {"heart": learnt(trained, 120), "nothing": learnt(trained, 0)}
    found = recognition(ARCHITECTURE, models, trained, unseen)
    assert found["heart"] is not None and found["heart"] > 0.95
    assert found["nothing"] is not None and 0.2 < found["nothing"] < 0.8


def test_it_is_the_exposure_of_an_audit() -> None:
    trained, unseen = samples(24, 1), samples(30, 2)
    weights = learnt(trained, 20)
    seen = [
        observe(ARCHITECTURE.module(weights, torch.device("cpu")), 3, each).truth()
        for each in (trained, unseen)
    ]
    found = recognition(ARCHITECTURE, {"a": weights}, trained, unseen)["a"]
    assert found == pytest.approx(auc(*seen), abs=1e-3)


def test_without_samples_or_numbers_there_is_no_figure() -> None:
    trained, nobody = samples(6, 1), samples(6, 1).at(torch.zeros(6, dtype=torch.bool))
    weights = learnt(trained, 0)
    assert recognition(ARCHITECTURE, {"a": weights}, trained, nobody) == {"a": None}
    assert recognition(ARCHITECTURE, {"a": weights}, nobody, trained) == {"a": None}
    broken = {name: torch.full_like(tensor, torch.nan) for name, tensor in weights.items()}
    assert recognition(ARCHITECTURE, {"a": broken}, trained, trained) == {"a": None}
