# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from blockful_lab.simulation.distribution import Distribution
from blockful_py.errors import SettingsError


@pytest.mark.parametrize(
    "text", ["0.05", "constant:2", "uniform:1,3", "exponential:0.2", "lognormal:0.05,0.5", "lognormal:1,0"]
)
def test_draws_are_positive_and_have_the_mean(text: str) -> None:
    spread = Distribution.parse(text)
    draws = spread.draw(np.random.default_rng(1), 40_000)
    assert draws.min() > 0
    assert draws.mean() == pytest.approx(spread.mean, rel=0.03)
    assert Distribution.parse(str(spread)) == spread


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "-1",
        "0",
        "nan",
        "inf",
        "uniform:3,1",
        "uniform:1",
        "lognormal:1,-1",
        "normal:1,2",
        "constant:1,2",
    ],
)
def test_what_is_none_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(SettingsError, match=r"write a number, or constant:value, uniform:low,high"):
        Distribution.parse(text)
