# SPDX-License-Identifier: Apache-2.0
"""Networks as people bring them: trained, made to forget, exported and loaded elsewhere, or refused."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from blockful_py.errors import SettingsError
from blockful_py.forget import Forget
from blockful_py.learning.data import Dataset
from blockful_py.learning.federation import FederationSpec, train_federation
from blockful_py.learning.models import Architecture
from blockful_py.learning.models.trial import require_trainable
from blockful_py.learning.partitions import Division, partition
from blockful_py.learning.streams import generator
from blockful_py.learning.training import train
from blockful_py.learning.weights import Weights, equal, from_bytes, to_bytes
from blockful_py.settings import FederationSettings, TrainingSettings
from blockful_py.unlearning.proxy import balanced_proxy
from blockful_py.unlearning.registry import FOR_ADOPTED, FOR_SUMS, METHODS, create_method
from blockful_py.unlearning.task import UnlearningTask
from tests.learning.zoo import REFUSED, USED, Buffered, Frozen, Normalised, named

CPU = torch.device("cpu")
PHI = TrainingSettings(epochs=2, batch_size=32, weight_decay=5e-3)
FEDERATION = FederationSettings("scripted", "all_hold", users=2, graph={"a": (), "b": ("a",)})
EDITS = {"ppnr"}
"""Methods that take something out of a layer, frozen or not."""
Tasks = Callable[[str, Forget], UnlearningTask]
LONE = 33
"""Samples of which the last is alone in its batch."""


def architecture_of(network: type[nn.Module], data: Dataset) -> Architecture:
    return Architecture.of(named(network), data)


def logits(network: type[nn.Module], weights: Weights, data: Dataset) -> torch.Tensor:
    """Logits of the class itself, loaded by a user with its code and the file."""
    module = network(data.input_shape, data.class_count, CPU)  # type: ignore[call-arg]
    module.load_state_dict(dict(weights))
    with torch.inference_mode():
        found: torch.Tensor = module.eval()(data.test.x[:64])
    return found


@pytest.mark.parametrize("name", USED)
def test_it_is_trained_to_the_same_bits_and_loaded_elsewhere(name: str, digits: Dataset) -> None:
    network = USED[name]
    architecture = architecture_of(network, digits)
    require_trainable(architecture, digits.train, 0)
    torch.manual_seed(1)
    state = torch.get_rng_state()
    own = digits.train.at(torch.arange(LONE))
    first = architecture.initial(generator(0))
    trained = [train(architecture, first, own, PHI, generator(1)) for _ in range(2)]
    assert torch.equal(torch.get_rng_state(), state)
    assert equal(*trained)
    assert not equal(trained[0], train(architecture, first, own, PHI, generator(2)))
    stored = from_bytes(to_bytes(trained[0]))
    with torch.inference_mode():
        here = architecture.module(trained[0], CPU).eval()(digits.test.x[:64])
    assert torch.equal(here, logits(network, stored, digits))


def task_of(network: type[nn.Module], digits: Dataset, forget: Forget) -> UnlearningTask:
    few = replace(digits, train=digits.train.at(torch.arange(2 * LONE)))
    users = partition(few, Division(FEDERATION, (1,), ()), 0)
    spec = FederationSpec(architecture_of(network, few), FEDERATION, PHI, root_factor=1, starting_users=(1,))
    models = [model for wave in train_federation(spec, users) for model in wave]
    proxy = balanced_proxy(digits.proxy, forget, 5)
    return UnlearningTask.of(spec, models, users, ["a"], forget, proxy)


@pytest.fixture(scope="module")
def tasks(digits: Dataset) -> Tasks:
    """A federation of a network that is to forget something, each trained once."""
    return functools.cache(lambda name, forget: task_of(USED[name], digits, forget))


@pytest.mark.parametrize("method", sorted(METHODS.keys() - FOR_SUMS - FOR_ADOPTED))
@pytest.mark.parametrize("name", USED)
def test_every_method_makes_it_forget(name: str, method: str, tasks: Tasks) -> None:
    task = tasks(name, Forget.of_classes([3]))
    outcomes = [create_method(method).unlearn(task).weights for _ in range(2)]
    torch.rand(1)
    for model, weights in outcomes[0].items():
        assert equal(weights, outcomes[1][model])
        frozen = name == Frozen.__name__ and method not in EDITS
        for key in ("first.weight", "first.bias") if frozen else ():
            assert torch.equal(weights[key], task.initial[key]), key
        for key in ("order", "shown", "scale") if name == Buffered.__name__ else ():
            assert torch.equal(weights[key], task.initial[key]), key


def levels_of(method: str) -> Any:
    return create_method(method).levels


@pytest.mark.parametrize(
    "method",
    [
        each
        for each in sorted(METHODS.keys() - FOR_SUMS - FOR_ADOPTED)
        if "sample" in map(str, levels_of(each))
    ],
)
def test_one_sample_is_forgotten_where_batches_are_normalised(method: str, tasks: Tasks) -> None:
    task = tasks(Normalised.__name__, Forget.of_samples([(1, 0)]))
    weights = create_method(method).unlearn(task).weights
    assert weights.keys() == {"a", "b"}
    assert all(tensor.isfinite().all() for model in weights.values() for tensor in model.values())


def test_a_sample_alone_is_normalised_by_the_running_statistics(digits: Dataset) -> None:
    architecture = architecture_of(Normalised, digits)
    weights = train(architecture, architecture.initial(generator(0)), digits.train, PHI, generator(1))
    alone = digits.test.x[:1]
    in_training, in_evaluation = (
        architecture.module(weights, CPU).train(which)(alone) for which in (True, False)
    )
    assert torch.equal(in_training, in_evaluation)


def test_what_is_frozen_stays_and_buffers_are_as_they_were_made(digits: Dataset) -> None:
    for network, kept in ((Frozen, ("first.weight", "first.bias")), (Buffered, ("order", "shown", "scale"))):
        architecture = architecture_of(network, digits)
        first = architecture.initial(generator(0))
        trained = train(architecture, first, digits.train, PHI, generator(1))
        assert all(torch.equal(first[name], trained[name]) for name in kept)
        assert not torch.equal(first["head.weight"], trained["head.weight"])
    made = dict(Buffered(digits.input_shape, digits.class_count, CPU).named_buffers())
    assert all(torch.equal(first[name], made[name]) for name in made)


@pytest.mark.parametrize("network", REFUSED, ids=lambda network: network.__name__)
def test_it_is_refused_and_told_what_to_change(network: type[nn.Module], digits: Dataset) -> None:
    with pytest.raises(SettingsError, match=REFUSED[network]) as refused:
        require_trainable(architecture_of(network, digits), digits.train, 0)
    assert named(network) in str(refused.value)


def test_what_a_program_of_ones_own_trains_needs_no_gradients(digits: Dataset) -> None:
    """A network is accepted that is refused where it is trained here."""
    (network,) = (each for each in REFUSED if each.__name__ == "Numpy")
    require_trainable(architecture_of(network, digits), digits.train, 0, by_gradient=False)
