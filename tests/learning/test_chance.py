# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math

import pytest
import torch

from blockful_py.learning.metrics import chance_level


def test_chance_is_the_share_of_the_commonest_class_and_two_standard_errors() -> None:
    equal = torch.arange(9).repeat(40)
    assert chance_level(equal) == pytest.approx(1 / 9 + 2 * math.sqrt(1 / 9 * 8 / 9 / 360))
    uneven = torch.tensor([0] * 60 + [1] * 40)
    assert chance_level(uneven) == pytest.approx(0.6 + 2 * math.sqrt(0.6 * 0.4 / 100))


@pytest.mark.parametrize("labels", [[4] * 50, [0] * 99 + [1], [0, 1]])
def test_nothing_is_said_where_even_a_perfect_model_could_be_lucky(labels: list[int]) -> None:
    assert chance_level(torch.tensor(labels)) is None
