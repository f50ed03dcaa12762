# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockful_py.errors import UnlearningError
from blockful_py.unlearning.audit.exposure import auc

SCORES = st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=12)


def test_separable_scores_have_an_auc_of_one_and_swapped_of_none() -> None:
    assert auc(np.array([3.0, 4.0]), np.array([1.0, 2.0])) == 1.0
    assert auc(np.array([1.0, 2.0]), np.array([3.0, 4.0])) == 0.0


def test_equal_scores_tell_nothing() -> None:
    assert auc(np.zeros(7), np.zeros(3)) == 0.5


@given(SCORES, SCORES)
def test_it_is_the_share_of_pairs_in_order(above: list[float], below: list[float]) -> None:
    pairs = [(a > b) + 0.5 * (a == b) for a in above for b in below]
    assert auc(np.array(above), np.array(below)) == pytest.approx(sum(pairs) / len(pairs))


def test_one_side_alone_is_refused() -> None:
    with pytest.raises(UnlearningError, match="both sides"):
        auc(np.zeros(0), np.zeros(3))


def test_a_score_that_is_no_number_leaves_none() -> None:
    assert np.isnan(auc(np.array([1.0, np.nan]), np.zeros(3)))
    assert np.isnan(auc(np.zeros(3), np.array([1.0, np.nan])))
