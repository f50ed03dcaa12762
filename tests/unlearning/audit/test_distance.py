# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hypothesis_numpy
from scipy.spatial.distance import jensenshannon
from scipy.special import log_softmax

from blockful_py.unlearning.audit.distance import jensen_shannon, weight_distance
from blockful_py.unlearning.audit.network import Floats
from tests.unlearning.audit.made_up import certain

LOGITS = hypothesis_numpy.arrays(np.float64, (3, 4), elements=st.floats(-20, 20))


def test_disjoint_answers_are_ln_2_apart() -> None:
    left, right = certain(0, 5, of_it=1 - 1e-12), certain(1, 5, of_it=1 - 1e-12)
    assert jensen_shannon(left, right) == pytest.approx(np.log(2), abs=1e-9)


@given(LOGITS)
def test_equal_answers_are_no_distance_apart(logits: Floats) -> None:
    said = log_softmax(logits, axis=1)
    assert jensen_shannon(said, said) == pytest.approx(0, abs=1e-12)


@given(LOGITS, LOGITS)
def test_it_is_scipys_squared_distance_on_average(left: Floats, right: Floats) -> None:
    left, right = log_softmax(left, axis=1), log_softmax(right, axis=1)
    # SciPy takes the root of what rounding leaves of nothing, which may lie below zero.
    with np.errstate(invalid="ignore"):
        roots = [jensenshannon(np.exp(p), np.exp(q)) for p, q in zip(left, right, strict=True)]
    expected = np.mean(np.nan_to_num(roots) ** 2)
    assert jensen_shannon(left, right) == pytest.approx(expected, abs=1e-7)
    assert jensen_shannon(left, right) == pytest.approx(jensen_shannon(right, left), abs=1e-12)
    assert 0 <= jensen_shannon(left, right) <= np.log(2)


def test_weights_three_and_four_apart_are_five_apart() -> None:
    left = {"a": torch.zeros(2), "b": torch.zeros(1)}
    right = {"a": torch.tensor([3.0, 0.0]), "b": torch.tensor([4.0])}
    assert weight_distance(left, right) == 5.0
