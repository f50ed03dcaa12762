# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockful_py.verdicts.statistics import mean, ratio, resample, worse_tail

VALUES = st.lists(st.floats(0.1, 100), min_size=1, max_size=12)


def test_whole_groups_are_drawn_and_as_many_models_as_each_has() -> None:
    counts = resample([3, 3, 3, 9, 9], draws=500)
    first, second = counts[:, :3].sum(1), counts[:, 3:].sum(1)
    assert set(zip(first.tolist(), second.tolist(), strict=True)) == {(6, 0), (3, 2), (0, 4)}


def test_the_same_seed_draws_the_same_and_another_does_not() -> None:
    assert (resample([0] * 9, seed=1) == resample([0] * 9, seed=1)).all()
    assert (resample([0] * 9, seed=1) != resample([0] * 9, seed=2)).any()


@given(VALUES)
def test_equal_figures_have_a_ratio_of_one(values: list[float]) -> None:
    found = ratio(values, values, resample([0] * len(values), draws=50))
    assert (found.value, found.low, found.high) == pytest.approx((1, 1, 1))


@given(VALUES)
def test_estimates_lie_in_their_intervals_and_these_in_the_range(values: list[float]) -> None:
    counts = resample([0] * len(values))
    for found in (mean(values, counts), worse_tail(values, counts)):
        assert min(values) - 1e-9 <= found.low <= found.high <= max(values) + 1e-9
    assert mean(values, counts).value == pytest.approx(np.mean(values))


def test_the_interval_of_a_mean_covers_it_about_as_often_as_it_says() -> None:
    stream = np.random.default_rng(0)
    counts = resample(range(40), draws=400)
    inside = [
        found.low <= 0 <= found.high
        for found in (mean(stream.normal(size=40).tolist(), counts) for _ in range(300))
    ]
    assert 0.9 < np.mean(inside) < 0.98


def test_one_model_in_twenty_is_beyond_the_worse_tail() -> None:
    values = list(range(1, 21))
    assert worse_tail(values, resample([0] * 20)).value == 19


def test_a_gap_over_no_gap_is_infinite_and_none_over_none_is_one() -> None:
    counts = resample([0, 0])
    assert ratio([1, 1], [0, 0], counts).value == np.inf
    assert ratio([0, 0], [0, 0], counts).value == 1
