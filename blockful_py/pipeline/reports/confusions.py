# SPDX-License-Identifier: Apache-2.0
"""What the models of a request take the classes for, all together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from blockful_py.learning.metrics import Quality
from blockful_py.report.sections import Confusions, Table

READABLE_CLASSES = 30
"""More make a matrix that nobody reads, and report.json long."""


def confusions(
    concerned: Iterable[str], before: Mapping[str, Quality], after: Mapping[str, Mapping[str, Quality]]
) -> Confusions | None:
    """Sums over the `concerned` models, `after` by paradigm; None where there are too many classes."""
    names = tuple(concerned)
    if not names or len(before[names[0]].confusion) > READABLE_CLASSES:
        return None
    summed = {
        paradigm: _sum([found.get(name, before[name]) for name in names]) for paradigm, found in after.items()
    }
    return Confusions(before=_sum([before[name] for name in names]), **summed)


def _sum(figures: Sequence[Quality]) -> Table:
    rows = zip(*(figure.confusion for figure in figures), strict=True)
    return tuple(tuple(map(sum, zip(*row, strict=True))) for row in rows)
