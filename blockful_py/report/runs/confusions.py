# SPDX-License-Identifier: Apache-2.0
"""Confusion matrices, summed over the models of a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from blockful_py.learning.metrics import Quality
from blockful_py.report.sections import Confusions, Table

READABLE_CLASSES = 30
"""Maximum number of classes; a larger matrix is unreadable and makes report.json long."""


def confusions(
    concerned: Iterable[str], before: Mapping[str, Quality], after: Mapping[str, Mapping[str, Quality]]
) -> Confusions | None:
    """Sums over the `concerned` models, `after` by paradigm; None for too many classes."""
    names = tuple(concerned)
    if not names or len(before[names[0]].confusion) > READABLE_CLASSES:
        return None
    summed = {
        paradigm: _sum([changed.get(name, before[name]) for name in names])
        for paradigm, changed in after.items()
    }
    return Confusions(before=_sum([before[name] for name in names]), **summed)


def _sum(figures: Sequence[Quality]) -> Table:
    rows = zip(*(figure.confusion for figure in figures), strict=True)
    return tuple(tuple(map(sum, zip(*row, strict=True))) for row in rows)
