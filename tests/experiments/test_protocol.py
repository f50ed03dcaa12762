# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest

from blockful_py.errors import SettingsError
from blockful_py.experiments.protocol import Cell, Scale, prepare
from blockful_py.forget import Level
from blockful_py.learning.weights import equal

CELL = Cell("digits", "few_hold", Level.CLASS, 5, Scale.SMALL)


def test_the_class_to_forget_goes_by_seed() -> None:
    assert [replace(CELL, seed=seed).label for seed in range(5, 10)] == [3, 8, 5, 1, 9]
    assert [Cell("shapes", "all_hold", Level.CLASS, seed).label for seed in (5, 6)] == [13, 6]


@pytest.mark.slow
def test_a_cell_is_the_protocols_federation_with_the_same_bits_each_time() -> None:
    once, again = prepare(CELL), prepare(CELL)
    assert len(once.task.models) == 14
    assert once.task.starts == ("r5", "r7", "r12", "r14")
    assert all(
        equal(once.task.models[name].weights, again.task.models[name].weights) for name in once.task.models
    )
    roots = [model for model in once.task.models.values() if not model.references]
    assert {model.training.epochs for model in roots} == {30}
    holders = {user.index for user in once.task.users.values() if len(user.train.only((3,)))}
    assert holders == {5, 7}
    assert once.task.proxy is not None
    assert once.task.proxy.classes() == (0, 1, 2, 4, 5, 6, 7, 8, 9)


@pytest.mark.slow
def test_clients_and_samples_start_from_all_models_of_the_first_holder() -> None:
    client = prepare(replace(CELL, situation="all_hold", level=Level.CLIENT)).task
    assert client.starts == ("r5", "r12")
    assert str(client.forget) == "client 5"
    sample = prepare(replace(CELL, situation="all_hold", level=Level.SAMPLE)).task
    assert sample.starts == ("r5", "r12")
    assert len(sample.forget_set()) == round(0.25 * len(sample.users[5].train))


def test_unknown_names_are_refused() -> None:
    with pytest.raises(SettingsError, match="Known: digits, shapes"):
        replace(CELL, data="mnist")
    with pytest.raises(SettingsError, match="Known: few_hold, all_hold"):
        replace(CELL, situation="some_hold")
