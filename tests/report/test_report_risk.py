# SPDX-License-Identifier: Apache-2.0
"""The plot of the risk is drawn from numbers alone, for any numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from blockful_py.report.plots import LIGHT
from blockful_py.report.plots.risk import RiskCurve, RiskPlot, draw_risk

FIELD = tuple(RiskCurve(pool, pool // 3, tuple(0.5**n for n in range(pool))) for pool in (1, 7, 10, 14))
PLOT = RiskPlot(0.2, 8, FIELD[2], FIELD, 1e-3)


def test_the_same_numbers_give_the_same_bytes() -> None:
    drawn = draw_risk(PLOT, LIGHT)
    assert drawn.startswith(b"\x89PNG\r\n\x1a\n")
    assert drawn == draw_risk(PLOT, LIGHT)
    assert drawn != draw_risk(replace(PLOT, size=3), LIGHT)
    assert drawn != draw_risk(replace(PLOT, target=None), LIGHT)


@pytest.mark.parametrize("risk", [0.0, 1e-300, 1.0])
def test_extreme_risks_can_be_drawn(risk: float) -> None:
    curve = RiskCurve(4, 1, (risk,) * 4)
    for target in (None, 1e-300, 0.5):
        assert draw_risk(RiskPlot(1.0, 2, curve, (curve,), target), LIGHT)
