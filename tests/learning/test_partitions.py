# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from blockful_py.errors import LearningError, SettingsError, UnknownClassError
from blockful_py.learning.data import Dataset, Samples, UserData
from blockful_py.learning.partitions import PARTITIONS, Division, partition
from blockful_py.settings import FederationSettings, Situation

HOLDERS = (5, 7)


def counts(users: Sequence[UserData], label: int) -> list[int]:
    return [len(user.train.only((label,))) for user in users]


def test_few_hold_gives_the_class_to_the_holders_alone_at_twice_the_share(digits: Dataset) -> None:
    few = counts(partition(digits, Division(FederationSettings(), HOLDERS, (3,)), 0), 3)
    usual = len(digits.train.only((3,))) / 14
    for index, count in enumerate(few, start=1):
        assert count == pytest.approx(2 * usual if index in HOLDERS else 0, abs=1)


def test_all_hold_spreads_every_class_evenly(digits: Dataset) -> None:
    users = partition(digits, Division(FederationSettings(situation="all_hold"), HOLDERS, (3,)), 0)
    assert sum(len(user.train) for user in users) == len(digits.train)
    for label in range(10):
        held = counts(users, label)
        assert max(held) - min(held) <= 1


FULL = ("all_hold", "dirichlet", "iid", "label_non_iid", "sample_non_iid", "shards")
"""Partitions that leave no sample out."""


@st.composite
def divided(draw: st.DrawFn) -> tuple[Samples, Division, int]:
    """Samples of five classes, all of them there, how to divide them, and a seed."""
    users = draw(st.integers(2, 8))
    labels = draw(st.lists(st.integers(0, 4), min_size=20, max_size=120)) + list(range(5))
    lacking = st.lists(st.integers(0, 4), max_size=3, unique=True).map(tuple)
    missing = draw(st.dictionaries(st.integers(1, users - 1), lacking)) | {1: (draw(st.integers(0, 4)),)}
    seed = draw(st.integers(0, 99))
    settings = FederationSettings(
        users=users,
        missing=missing,
        concentration=draw(st.sampled_from([0.01, 0.5, 100.0])),
        shards=draw(st.integers(1, 3)),
    )
    x = torch.rand(len(labels), 1, 2, 2, generator=torch.Generator().manual_seed(seed))
    return Samples(x, torch.tensor(labels)), Division(settings, (1, 2), (0,)), seed


def dealt(name: Situation, case: tuple[Samples, Division, int], shift: int = 0) -> list[list[int]]:
    samples, division, seed = case
    rule = PARTITIONS[name](samples, division, torch.Generator().manual_seed(seed + shift))
    return rule(samples, torch.Generator().manual_seed(seed + shift + 1))


@pytest.mark.parametrize("name", sorted(PARTITIONS))
@given(case=divided())
def test_users_share_nothing_and_leave_nothing_out(
    name: Situation, case: tuple[Samples, Division, int]
) -> None:
    labels = case[0].y.tolist()
    shares = dealt(name, case)
    rows = [row for share in shares for row in share]
    assert len(shares) == case[1].users
    assert len(rows) == len(set(rows))
    wanted = {row for row, label in enumerate(labels) if name in FULL or label != 0}
    assert wanted <= set(rows) <= set(range(len(labels)))


@pytest.mark.parametrize("name", sorted(PARTITIONS))
@given(case=divided())
@settings(max_examples=25)
def test_the_same_draws_give_the_same_shares(name: Situation, case: tuple[Samples, Division, int]) -> None:
    assert dealt(name, case) == dealt(name, case)


@pytest.mark.parametrize("name", sorted(PARTITIONS))
def test_other_draws_give_other_shares(name: Situation, digits: Dataset) -> None:
    division = Division(FederationSettings(missing={1: (0,)}), HOLDERS, (3,))
    assert dealt(name, (digits.train, division, 0)) != dealt(name, (digits.train, division, 0), 10)


@given(case=divided())
def test_missing_classes_are_missing_and_all_others_are_dealt_evenly(
    case: tuple[Samples, Division, int],
) -> None:
    samples, division, _ = case
    shares = dealt("label_non_iid", case)
    for label in range(5):
        held = [int((samples.y[share] == label).sum()) for share in shares]
        lacking = {user - 1 for user, classes in division.settings.missing.items() if label in classes}
        assert all(held[user] == 0 for user in lacking)
        others = [count for user, count in enumerate(held) if user not in lacking]
        assert max(others) - min(others) <= 1


@given(case=divided())
def test_nobody_is_without_samples_in_a_dirichlet_partition(case: tuple[Samples, Division, int]) -> None:
    assert all(dealt("dirichlet", case))


@given(case=divided())
def test_sizes_differ_by_one_at_most_where_they_should(case: tuple[Samples, Division, int]) -> None:
    for name, spread in (("iid", 1), ("all_hold", 1), ("shards", case[1].settings.shards)):
        sizes = [len(share) for share in dealt(name, case)]
        assert max(sizes) - min(sizes) <= spread


def test_shards_give_each_user_few_classes(digits: Dataset) -> None:
    users = partition(digits, Division(FederationSettings(situation="shards", shards=2), HOLDERS, (3,)), 0)
    assert max(len(user.train.classes()) for user in users) <= 4
    assert len({user.train.classes() for user in users}) > 1
    shared = [set(user.train.classes()) & set(user.test.classes()) for user in users]
    assert all(shared)


def test_a_small_concentration_makes_users_unlike(digits: Dataset) -> None:
    def unevenness(concentration: float) -> float:
        settings = FederationSettings(situation="dirichlet", concentration=concentration)
        users = partition(digits, Division(settings, HOLDERS, (3,)), 0)
        held = torch.tensor([counts(users, label) for label in range(10)], dtype=torch.float64)
        return float(held.std(1).mean())

    assert unevenness(100.0) < unevenness(1.0) < unevenness(0.2)


def test_train_and_test_shares_follow_one_rule(digits: Dataset) -> None:
    settings = FederationSettings(situation="dirichlet", users=4, concentration=0.3)
    users = partition(digits, Division(settings, (1, 2), (3,)), 0)
    train = torch.stack([user.train.y.bincount(minlength=10) / 1150 for user in users]).flatten()
    test = torch.stack([user.test.y.bincount(minlength=10) / 400 for user in users]).flatten()
    assert float(torch.corrcoef(torch.stack([train, test]))[0, 1]) > 0.9


def test_users_have_the_same_classes_but_unlike_samples(digits: Dataset) -> None:
    """In sample_non_iid the users' means of a class lie further apart than in iid."""

    def apart(name: str) -> float:
        users = partition(digits, Division(FederationSettings(situation=name, users=5), (1, 2), (3,)), 0)
        assert all(user.train.classes() == tuple(range(10)) for user in users)
        means = torch.stack([user.train.only((3,)).x.mean(0).flatten() for user in users])
        return float(means.var(0).sum())

    assert apart("sample_non_iid") > 3 * apart("iid")


@pytest.mark.parametrize(
    ("name", "changes", "reason"),
    [
        ("label_non_iid", {}, "needs the classes that users from 1 to 14 lack"),
        ("label_non_iid", {"missing": {1: ()}}, "needs the classes"),
        ("label_non_iid", {"missing": {15: (1,)}}, "needs the classes"),
        ("label_non_iid", {"missing": dict.fromkeys(range(1, 15), (1,))}, "gives class 1 to no user"),
        ("dirichlet", {"concentration": 0.0}, "concentration must be above 0"),
        ("shards", {"shards": 0}, "shards must be at least 1"),
    ],
)
def test_settings_that_do_not_fit_are_refused(
    digits: Dataset, name: Situation, changes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(SettingsError, match=reason):
        settings = FederationSettings(situation=name, **changes)
        partition(digits, Division(settings, HOLDERS, (3,)), 0)


def test_a_missing_class_that_there_is_not_is_refused(digits: Dataset) -> None:
    with pytest.raises(UnknownClassError, match="no class 12"):
        settings = FederationSettings(situation="label_non_iid", missing={1: (12,)})
        partition(digits, Division(settings, HOLDERS, (3,)), 0)


def test_the_seed_decides_the_shares(digits: Dataset, users: tuple[UserData, ...]) -> None:
    division = Division(FederationSettings(), HOLDERS, (3,))
    assert torch.equal(partition(digits, division, 0)[0].train.x, users[0].train.x)
    assert not torch.equal(partition(digits, division, 1)[0].train.x, users[0].train.x)


def test_seven_classes_are_cut_to_what_there_is(digits: Dataset) -> None:
    users = partition(digits, Division(FederationSettings(users=3), (1, 2), tuple(range(7))), 0)
    assert users[2].train.classes() == (7, 8, 9)
    assert all(user.train.classes() == tuple(range(10)) for user in users[:2])


def test_a_class_that_the_data_lack_is_refused_with_those_there_are(digits: Dataset) -> None:
    with pytest.raises(UnknownClassError, match=r"no class 12; it has 0, 1, 2, 3, 4, 5, 6, 7, 8, 9"):
        partition(digits, Division(FederationSettings(), HOLDERS, (12,)), 0)


def test_more_users_than_samples_are_refused(digits: Dataset) -> None:
    with pytest.raises(LearningError, match="user 401 would be without test samples"):
        partition(digits, Division(FederationSettings(situation="all_hold", users=500), HOLDERS, (3,)), 0)


@pytest.mark.parametrize("holders", [(), (0,), (15,)])
def test_holders_must_be_users(digits: Dataset, holders: tuple[int, ...]) -> None:
    with pytest.raises(SettingsError, match="holders"):
        partition(digits, Division(FederationSettings(), holders, (3,)), 0)


def test_an_unknown_situation_lists_the_known_ones() -> None:
    with pytest.raises(SettingsError, match="one of few_hold, all_hold, iid"):
        FederationSettings(situation="half")  # type: ignore[arg-type]
