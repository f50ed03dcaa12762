# SPDX-License-Identifier: Apache-2.0
"""An axis that magnifies differences: it covers the whole range only if the values need it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

MAGNIFIED = 0.5
"""Share of the possible range below which the values' span gets its own axis."""
NARROWEST = 0.05
"""Minimum share of the possible range on an axis, so that noise does not look like a difference."""
STEPS = (1, 2, 2.5, 5, 10)
MOST_TICKS = 6


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis from `low` to `high`, within the possible range from `least` to `most`."""

    least: float
    most: float
    low: float
    high: float
    ticks: tuple[float, ...]

    @classmethod
    def over(cls, values: Iterable[float], least: float, most: float) -> Axis:
        """An axis for values within [least, most]: the whole range, or the part that they span."""
        known = list(values)
        whole = most - least
        if not known or max(known) - min(known) >= MAGNIFIED * whole:
            return cls(least, most, least, most, _ticks(least, most, whole / 4))
        span = max(max(known) - min(known), NARROWEST * whole)
        middle = (min(known) + max(known)) / 2
        bottom = min(max(middle - span / 2, least), most - span)
        top = bottom + span
        step = _step((top - bottom) / (MOST_TICKS - 2))
        low = max(math.floor(bottom / step + 1e-9) * step, least)
        high = min(math.ceil(top / step - 1e-9) * step, most)
        return cls(least, most, low, high, _ticks(low, high, step))

    @property
    def is_cut(self) -> bool:
        """Whether the axis begins above the least possible value, so that lengths are not proportional."""
        return self.low > self.least

    def at(self, value: float) -> float:
        """Place of a value, in percent of the axis."""
        return round(100 * (value - self.low) / (self.high - self.low), 2)


def _step(least: float) -> float:
    """The smallest round number that is at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * each for each in STEPS if power * each >= least * (1 - 1e-9))


def _ticks(low: float, high: float, step: float) -> tuple[float, ...]:
    return tuple(round(low + number * step, 6) for number in range(round((high - low) / step + 1e-9) + 1))
