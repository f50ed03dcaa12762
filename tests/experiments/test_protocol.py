# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from sklearn.datasets import load_wine

from blockful_lab.experiments.protocol import Cell, Scale, lay_out, prepare
from blockful_py.errors import SettingsError
from blockful_py.forget import Level
from blockful_py.learning.data import Dataset, Samples
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.streams import generator
from blockful_py.learning.weights import equal
from blockful_py.settings import DataOptions

CELL = Cell("digits", "few_hold", Level.CLASS, 5, Scale.SMALL)


def test_the_class_to_forget_goes_by_seed() -> None:
    data = load_dataset("digits", 0, torch.device("cpu"))
    assert [replace(CELL, seed=seed).label_in(data) for seed in (5, 9, 11)] == [5, 9, 1]


@pytest.mark.slow
def test_a_cell_is_the_protocols_federation_with_the_same_bits_each_time() -> None:
    once, again = prepare(CELL), prepare(CELL)
    assert len(once.task.models) == 14
    assert once.task.starts == ("r5", "r7", "r12", "r14")
    assert all(
        equal(once.task.models[name].weights, again.task.models[name].weights) for name in once.task.models
    )
    roots = [model for model in once.task.models.values() if not model.references]
    assert {model.training.epochs for model in roots} == {3 * once.recipe.epochs}
    assert once.recipe == again.recipe
    holders = {user.index for user in once.task.users.values() if len(user.train.only((5,)))}
    assert holders == {5, 7}
    assert once.task.proxy is not None
    assert once.task.proxy.classes() == (0, 1, 2, 3, 4, 6, 7, 8, 9)


@pytest.mark.slow
def test_clients_and_samples_start_from_all_models_of_the_first_holder() -> None:
    client = prepare(replace(CELL, situation="all_hold", level=Level.CLIENT)).task
    assert client.starts == ("r5", "r12")
    assert str(client.forget) == "client 5"
    sampled = prepare(replace(CELL, situation="all_hold", level=Level.SAMPLE))
    assert sampled.recipe == prepare(CELL).recipe  # of all situations and levels
    sample = sampled.task
    assert sample.starts == ("r5", "r12")
    assert len(sample.forget_set()) == round(0.25 * len(sample.users[5].train))


def test_unknown_names_are_refused() -> None:
    with pytest.raises(SettingsError, match="Known: cifar10, cifar100, cifar10_small, digits"):
        prepare(replace(CELL, data="mnist"))
    with pytest.raises(SettingsError, match="Known: few_hold, all_hold"):
        replace(CELL, situation="some_hold")


def wines(seed: int, options: DataOptions) -> Dataset:
    """Numbers, in place of images: three growers' wines, scaled by their largest values."""
    x, y = load_wine(return_X_y=True)
    everything = Samples(torch.from_numpy(x / x.max(0)).float(), torch.from_numpy(y))
    order = torch.randperm(len(everything), generator=generator(seed, "wines"))
    train, test, proxy = (everything.at(rows) for rows in order.split([110, 48, 20]))
    return Dataset("wines", 3, train, test, proxy)


def test_numbers_are_learned_by_the_network_for_tables() -> None:
    cell = Cell("tests.experiments.test_protocol:wines", "all_hold", Level.CLASS, 5, Scale.SMALL)
    laid = lay_out(cell)
    assert (laid.settings.architecture.name, laid.settings.architecture.input_shape) == ("mlp", (13,))
    assert lay_out(replace(cell, data="digits")).settings.architecture.name == "cnn"
