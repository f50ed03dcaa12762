# SPDX-License-Identifier: Apache-2.0
"""An axis holds its values, in order, and is cut only where they would otherwise be squeezed together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockful_py.report.drawing.passages import MAGNIFIED, MOST_TICKS, NARROWEST, Axis

RANGES = st.sampled_from([(0.0, 100.0), (0.0, 1.0)])


@given(RANGES, st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_values_lie_on_the_axis_in_their_order(ends: tuple[float, float], shares: list[float]) -> None:
    least, most = ends
    values = sorted(least + share * (most - least) for share in shares)
    axis = Axis.over(values, least, most)
    places = [axis.at(value) for value in values]
    assert places == sorted(places)
    assert all(-0.01 <= place <= 100.01 for place in places)
    assert least <= axis.low < axis.high <= most
    assert axis.high - axis.low >= NARROWEST * (most - least) * (1 - 1e-9)
    assert 2 <= len(axis.ticks) <= MOST_TICKS + 1
    assert all(axis.low - 1e-6 <= tick <= axis.high + 1e-6 for tick in axis.ticks)
    if values[-1] - values[0] >= MAGNIFIED * (most - least):
        assert (axis.low, axis.high) == (least, most)


@pytest.mark.parametrize(
    ("values", "low", "high", "is_cut"),
    [
        ((0.0, 96.7), 0, 100, False),
        ((87.3, 95.9), 85, 97.5, True),
        ((91.0,), 88, 94, True),
        ((0.0, 0.0), 0, 6, False),
        ((), 0, 100, False),
    ],
)
def test_small_differences_are_magnified(
    values: tuple[float, ...], low: float, high: float, is_cut: bool
) -> None:
    axis = Axis.over(values, 0, 100)
    assert (axis.low, axis.high, axis.is_cut) == (low, high, is_cut)
