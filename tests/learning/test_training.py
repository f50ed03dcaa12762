# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import errno
import random
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from blockful_py.errors import LearningError, SettingsError
from blockful_py.learning.data import Dataset, Samples, UserData
from blockful_py.learning.device import compiled, network_errors
from blockful_py.learning.evaluation import accuracies, accuracy
from blockful_py.learning.models import Architecture
from blockful_py.learning.streams import generator
from blockful_py.learning.training import train
from blockful_py.learning.weights import Weights, equal, flatten
from blockful_py.settings import TrainingSettings

SHORT = TrainingSettings(epochs=3)


@pytest.fixture(scope="module")
def initial(cnn: Architecture) -> Weights:
    return cnn.initial(generator(0))


@pytest.fixture(scope="module")
def own(users: tuple[UserData, ...]) -> Samples:
    return users[0].train


def test_training_learns_the_digits(cnn: Architecture, initial: Weights, digits: Dataset) -> None:
    trained = train(cnn, initial, digits.train, TrainingSettings(epochs=5), generator(0))
    assert accuracy(cnn, trained, digits.test) > 0.95


def test_the_same_stream_gives_the_same_bits(cnn: Architecture, initial: Weights, own: Samples) -> None:
    first = train(cnn, initial, own, SHORT, generator(0, "a"))
    assert equal(first, train(cnn, initial, own, SHORT, generator(0, "a")))
    assert not equal(first, train(cnn, initial, own, SHORT, generator(0, "b")))


def test_training_leaves_its_input_and_all_global_generators_alone(
    cnn: Architecture, initial: Weights, own: Samples
) -> None:
    before = (torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate())
    kept = flatten(initial).copy()
    train(cnn, cnn.initial(generator(3)), own, SHORT, generator(0))
    train(cnn, initial, own, SHORT, generator(0))
    assert np.array_equal(flatten(initial), kept)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.random.get_state()[1].tolist() == before[1]
    assert random.getstate() == before[2]


def test_the_flat_update_is_that_of_torch(cnn: Architecture, initial: Weights, own: Samples) -> None:
    settings = TrainingSettings(epochs=2, learning_rate=0.05, final_rate_share=1.0)
    module = cnn.module(initial, torch.device("cpu"))
    optimiser = torch.optim.SGD(
        module.parameters(), lr=0.05, momentum=settings.momentum, weight_decay=settings.weight_decay
    )
    stream = generator(0)
    for _ in range(settings.epochs):
        for rows in torch.randperm(len(own), generator=stream).split(settings.batch_size):
            optimiser.zero_grad()
            functional.cross_entropy(module(own.x[rows]), own.y[rows]).backward()
            optimiser.step()
    found = flatten(train(cnn, initial, own, settings, generator(0)))
    assert found == pytest.approx(flatten(module.state_dict()), abs=1e-6)


def test_options_of_speed_change_only_the_rounding(
    cnn: Architecture, initial: Weights, digits: Dataset
) -> None:
    plain = flatten(train(cnn, initial, digits.train, SHORT, generator(0)))
    last = train(cnn, initial, digits.train, replace(SHORT, channels_last=True), generator(0))
    assert flatten(last) == pytest.approx(plain, abs=1e-4)
    half = train(cnn, initial, digits.train, replace(SHORT, precision="bfloat16"), generator(0))
    assert not equal(half, last)
    assert half["dense.weight"].dtype == torch.float32
    assert accuracy(cnn, half, digits.test) > 0.9


@pytest.mark.slow
def test_a_compiled_network_learns_the_same(
    cnn: Architecture, initial: Weights, digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = partial(compiled, backend="aot_eager")  # all but the C++ compiler, which takes a minute
    monkeypatch.setattr("blockful_py.learning.gradient_steps.compiled", quick)
    some = digits.train.at(torch.arange(64))
    plain = flatten(train(cnn, initial, some, SHORT, generator(0)))
    found = train(cnn, initial, some, replace(SHORT, compiled=True), generator(0))
    assert flatten(found) == pytest.approx(plain, abs=1e-4)


def test_a_network_that_cannot_be_compiled_is_refused() -> None:
    def failing(*_: object) -> object:
        raise RuntimeError("no compiler")

    run = compiled(nn.Linear(2, 2), backend=failing)
    with pytest.raises(SettingsError, match=r"compiled = false"):
        run(torch.zeros(1, 2))


def test_a_device_without_memory_left_says_what_to_lower() -> None:
    refused = pytest.raises(LearningError, match=r"cpu is out of memory: lower learning\.batch_size")
    with refused, network_errors(torch.device("cpu")):
        torch.empty(2**60)
    with pytest.raises(LearningError, match="batch_size"), network_errors(torch.device("cuda")):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.")
    with (
        pytest.raises(LearningError, match=r"the network failed \(RuntimeError\): mat1"),
        network_errors(torch.device("cpu")),
    ):
        torch.zeros(2, 3) @ torch.zeros(2, 3)


def test_a_full_disk_is_no_fault_of_the_network() -> None:
    """Its job stays, and goes on once there is room."""
    with pytest.raises(OSError, match="no room"), network_errors(torch.device("cpu")):
        raise OSError(errno.ENOSPC, "no room")


def test_training_without_samples_is_refused(cnn: Architecture, initial: Weights, own: Samples) -> None:
    with pytest.raises(LearningError, match="needs samples"):
        train(cnn, initial, own.only((99,)), SHORT, generator(0))
    with pytest.raises(LearningError, match="at least one sample"):
        accuracies(cnn, {"r1": initial}, own.only((99,)))


def test_training_that_diverges_is_refused(cnn: Architecture, initial: Weights, own: Samples) -> None:
    with pytest.raises(LearningError, match="lower rate"):
        train(cnn, initial, own, TrainingSettings(epochs=5, learning_rate=1e20), generator(0))


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": 0},
        {"batch_size": 0},
        {"learning_rate": 0.0},
        {"momentum": 1.0},
        {"weight_decay": -1.0},
        {"final_rate_share": 2.0},
        {"together": "vmap"},
        {"precision": "float16"},
    ],
)
def test_settings_out_of_range_are_refused(wrong: dict[str, float | str]) -> None:
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        TrainingSettings(**wrong)  # type: ignore[arg-type]
