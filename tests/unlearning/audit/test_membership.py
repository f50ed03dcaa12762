# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hypothesis_numpy
from scipy.special import log_softmax

from blockful_py.errors import UnlearningError
from blockful_py.unlearning.audit.membership import label_free_features, membership_rate
from blockful_py.unlearning.audit.network import Floats
from tests.unlearning.audit.made_up import certain

LOGITS = hypothesis_numpy.arrays(np.float64, (6, 4), elements=st.floats(-40, 40))


def drawn(sharpness: float, count: int, seed: int) -> Floats:
    logits = sharpness * np.random.default_rng(seed).normal(size=(count, 5))
    return np.asarray(log_softmax(logits, axis=1))


def test_features_of_a_coin_toss_between_two_classes() -> None:
    (features,) = label_free_features(np.log([[0.5, 0.5 - 1e-12, 1e-12]]))
    assert features == pytest.approx([0, 0, np.log(2)], abs=1e-9)


def test_features_of_three_to_one() -> None:
    (features,) = label_free_features(np.log([[0.25, 0.75]]))
    assert features == pytest.approx([np.log(3), 0.5, -0.25 * np.log(0.25) - 0.75 * np.log(0.75)])


@given(LOGITS)
def test_features_are_finite_and_do_not_know_which_class_is_which(logits: Floats) -> None:
    log_probs = log_softmax(logits, axis=1)
    features = label_free_features(log_probs)
    assert np.isfinite(features).all()
    assert label_free_features(log_probs[:, [2, 0, 3, 1]]) == pytest.approx(features, abs=1e-9)


def test_samples_like_the_members_are_called_members_and_others_not() -> None:
    members, strangers = drawn(8, 200, 1), drawn(1, 200, 2)
    assert membership_rate(members, strangers, drawn(8, 200, 3)) > 0.9
    assert membership_rate(members, strangers, drawn(1, 200, 4)) < 0.1


def test_the_sides_weigh_the_same_however_many_there_are() -> None:
    """With ten times as many strangers, an attacker who counted heads would call nobody a member."""
    members, strangers = drawn(3, 60, 1), drawn(2, 600, 2)
    assert 0.3 < membership_rate(members, strangers, drawn(3, 500, 3)) < 0.9


def test_separable_sides_do_not_run_away() -> None:
    rate = membership_rate(certain(0, 20), certain(0, 20, of_it=0.4), certain(1, 10))
    assert rate == 1.0


@given(st.integers(0, 50))
def test_the_attacker_does_not_care_how_classes_are_numbered(seed: int) -> None:
    parts = [drawn(2, 30, seed + i) for i in range(3)]
    renamed = [part[:, [4, 2, 0, 1, 3]] for part in parts]
    assert membership_rate(*renamed) == pytest.approx(membership_rate(*parts))


@pytest.mark.parametrize("empty", [0, 1, 2])
def test_an_empty_side_is_refused(empty: int) -> None:
    parts = [certain(0, 4), certain(1, 4), certain(2, 4)]
    parts[empty] = parts[empty][:0]
    with pytest.raises(UnlearningError, match="at least one"):
        membership_rate(*parts)
