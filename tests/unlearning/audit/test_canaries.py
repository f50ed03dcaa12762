# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from blockful_py.errors import LearningError
from blockful_py.learning.data import Dataset
from blockful_py.learning.partitions import Division, partition
from blockful_py.learning.streams import generator
from blockful_py.settings import FederationSettings
from blockful_py.unlearning.audit.canaries import CANARIES, MISLABELLED, UNUSUAL, mislabelled, plant, unusual
from blockful_py.unlearning.audit.samples import SHOWN, first_of_each
from blockful_py.unlearning.proxy import require_clean_proxy


def test_canaries_join_the_owners_data_and_are_all_that_is_asked_for(dataset: Dataset) -> None:
    before = partition(dataset, Division(FederationSettings(users=5), (1,), (3,)), 0)
    users, forget, kinds = plant(before, 2, dataset, 7)
    assert [len(user.train) - len(old.train) for user, old in zip(users, before, strict=True)] == [
        0,
        2 * CANARIES,
        0,
        0,
        0,
    ]
    assert len(forget.rows(2)) == 2 * CANARIES
    asked = users[1].train.at(torch.tensor(forget.rows(2)))
    planted = [kinds[kind][0] for kind in (MISLABELLED, UNUSUAL)]
    assert torch.equal(asked.x, torch.cat([each.x for each in planted]))
    assert torch.equal(asked.y, torch.cat([each.y for each in planted]))
    require_clean_proxy(first_of_each(dataset.proxy, dataset.train.classes(), SHOWN), forget, users)
    again = plant(before, 2, dataset, 7)[0]
    assert torch.equal(again[1].train.x, users[1].train.x)
    assert not torch.equal(plant(before, 2, dataset, 8)[0][1].train.x, users[1].train.x)


def test_a_label_is_never_the_samples_own(dataset: Dataset) -> None:
    wrong = mislabelled(dataset.test, 10, generator(1, "labels"))
    assert torch.equal(wrong.x, dataset.test.x)
    assert not (wrong.y == dataset.test.y).any()
    assert wrong.classes() == tuple(range(10))


def test_unusual_images_have_the_same_pixels_elsewhere(dataset: Dataset) -> None:
    strange = unusual(dataset.test, generator(1, "pixels"))
    assert torch.equal(strange.y, dataset.test.y)
    assert torch.equal(strange.x.flatten(1).sort(1).values, dataset.test.x.flatten(1).sort(1).values)
    assert not torch.equal(strange.x, dataset.test.x)


def test_too_few_spare_samples_are_refused(dataset: Dataset) -> None:
    users = partition(dataset, Division(FederationSettings(users=5), (1,), (3,)), 0)
    few = replace(dataset, proxy=dataset.proxy.at(torch.arange(60)))
    with pytest.raises(LearningError, match="keep more data out of training"):
        plant(users, 2, few, 7)
