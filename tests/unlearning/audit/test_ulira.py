# SPDX-License-Identifier: Apache-2.0
"""U-LiRA on margins whose distributions are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

from blockful_py.errors import UnlearningError
from blockful_py.unlearning.audit.epsilon import epsilon_bound, rate_interval
from blockful_py.unlearning.audit.margins import margins
from blockful_py.unlearning.audit.network import Floats
from blockful_py.unlearning.audit.ulira import leave_pair_out, likelihood_ratios, u_lira


def drawn(seed: int, models: int, examples: int, centre: float = 0.0, spread: float = 1.0) -> Floats:
    return np.random.default_rng(seed).normal(centre, spread, (models, examples))


def test_a_margin_is_the_logit_of_the_true_labels_probability() -> None:
    p = np.array([[0.7, 0.2, 0.1], [0.5, 0.25, 0.25]])
    assert margins(np.log(p), [0, 2]) == pytest.approx([math.log(0.7 / 0.3), math.log(0.25 / 0.75)])
    shifted = np.log(p) + np.array([[5.0], [-3.0]])
    assert margins(shifted, [0, 2]) == pytest.approx(margins(np.log(p), [0, 2]))


def test_a_sure_network_keeps_its_margin() -> None:
    assert margins([[60.0, 0.0]], [0]) == pytest.approx([60.0])


@pytest.mark.parametrize(
    ("logits", "labels"), [([[1.0, 2.0]], [0, 1]), ([1.0, 2.0], [0]), ([[1.0]], [0]), ([[1.0, np.nan]], [0])]
)
def test_logits_that_are_none_are_refused(logits: list[float], labels: list[int]) -> None:
    with pytest.raises(UnlearningError):
        margins(logits, labels)


def test_equal_distributions_tell_nothing() -> None:
    found = u_lira(drawn(1, 64, 40), drawn(2, 64, 40))
    assert found.epsilon.low == 0
    assert found.accuracy.low < 0.5 < found.accuracy.high
    assert found.worst.low < 0.5
    assert found.tpr.low < 0.01 < found.tpr.high


def test_far_distributions_are_told_apart_as_surely_as_so_many_models_can() -> None:
    found = u_lira(drawn(1, 64, 5, centre=50), drawn(2, 64, 5))
    assert (found.tpr.value, found.accuracy.value, found.worst.value) == (1, 1, 1)
    assert found.epsilon.low == found.epsilon.limit > 1
    assert found.epsilon.high == math.inf


def test_rates_are_those_of_the_gaussians() -> None:
    found = u_lira(drawn(1, 400, 30, centre=2), drawn(2, 400, 30))
    assert found.accuracy.value == pytest.approx(ndtr(1), abs=0.01)
    assert found.tpr.value == pytest.approx(ndtr(2 + ndtri(0.01)), abs=0.04)


def test_a_spread_is_recognised_as_well_as_a_shift() -> None:
    assert u_lira(drawn(1, 64, 20, spread=0.05), drawn(2, 64, 20)).accuracy.low > 0.9


def test_one_remembered_example_is_found_among_many() -> None:
    known = drawn(1, 64, 40)
    known[:, 17] += 6
    found = u_lira(known, drawn(2, 64, 40))
    assert found.worst_example == 17
    assert found.worst.low > 0.8
    assert found.epsilon.low > 0
    assert found.accuracy.value < 0.55


@settings(max_examples=25)
@given(st.integers(0, 1000), st.integers(4, 9))
def test_a_pair_is_scored_by_the_other_pairs(seed: int, models: int) -> None:
    known, strange = drawn(seed, models, 3, centre=1), drawn(seed + 1, models, 3)
    ratios = leave_pair_out(known, strange)
    for i in range(models):
        others = np.delete(known, i, 0), np.delete(strange, i, 0)
        if models > 4:
            assert ratios[0][i] == pytest.approx(likelihood_ratios(*others, known[[i]])[0])
            assert ratios[1][i] == pytest.approx(likelihood_ratios(*others, strange[[i]])[0])


def test_constant_margins_do_not_divide_by_zero() -> None:
    found = u_lira(np.ones((8, 2)), np.ones((8, 2)))
    assert (found.tpr.value, found.accuracy.value, found.epsilon.low) == (0, 0.5, 0)


def test_too_few_models_or_other_examples_are_refused() -> None:
    for known, strange in ((3, 3), (8, 9)):
        with pytest.raises(UnlearningError, match="S at least 4"):
            u_lira(drawn(1, known, 5), drawn(2, strange, 5))
    with pytest.raises(UnlearningError, match="not finite"):
        u_lira(np.full((8, 2), np.inf), drawn(2, 8, 2))


def test_rates_have_exact_intervals() -> None:
    assert rate_interval(0, 10) == pytest.approx((0.0, 1 - 0.025**0.1))
    assert rate_interval(10, 10) == pytest.approx((0.025**0.1, 1.0))
    with pytest.raises(UnlearningError, match="3 of 2"):
        rate_interval(3, 2)


def test_a_perfect_attack_proves_what_so_many_decisions_can() -> None:
    bound = epsilon_bound(32, 32, 0, 32)
    sure = 0.0125 ** (1 / 32)  # half of 5 %, for each of two rates
    assert bound.low == bound.limit == pytest.approx(math.log(sure / (1 - sure)))
    assert bound.high == math.inf
    assert epsilon_bound(32, 32, 0, 32, tests=50).low < bound.low


def test_a_guess_proves_nothing_and_one_decision_neither() -> None:
    assert epsilon_bound(16, 32, 16, 32).low == 0
    assert epsilon_bound(1, 1, 0, 1).low == 0


def test_bounds_hold_as_often_as_they_say() -> None:
    """Randomised response with epsilon 1: fewer than 5 % of bounds, of any of 10 tests, exceed it."""
    stream, p, epsilon = np.random.default_rng(0), math.e / (1 + math.e), 1.0
    true, false = stream.binomial(100, p, (200, 10)), stream.binomial(100, 1 - p, (200, 10))
    low = np.array(
        [
            [epsilon_bound(int(a), 100, int(b), 100, tests=10).low for a, b in zip(*row, strict=True)]
            for row in zip(true, false, strict=True)
        ]
    )
    assert (low.max(1) > epsilon).mean() < 0.05
    assert low.max() > 0.3


def test_an_auc_is_that_of_the_gaussians_and_four_models_are_enough_for_one() -> None:
    found = u_lira(drawn(1, 400, 30, centre=2), drawn(2, 400, 30))
    assert found.auc.value == pytest.approx(ndtr(math.sqrt(2)), abs=0.01)
    assert u_lira(drawn(1, 64, 40), drawn(2, 64, 40)).auc.value == pytest.approx(0.5, abs=0.02)
    assert u_lira(drawn(1, 4, 5, centre=50), drawn(2, 4, 5)).auc.value == 1
