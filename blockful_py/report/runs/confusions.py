# SPDX-License-Identifier: Apache-2.0
"""Confusion matrices, summed over the models of a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from blockful_py.learning.metrics import Quality
from blockful_py.report.sections import READABLE_CLASSES, Confusions, Table


def confusions(
    concerned: Iterable[str], before: Mapping[str, Quality], after: Mapping[str, Mapping[str, Quality]]
) -> Confusions | None:
    """Confusions summed over the `concerned` models, `after` by paradigm; None for too many classes."""
    names = tuple(concerned)
    if not names or len(before[names[0]].per_class) > READABLE_CLASSES:
        return None
    summed = {
        paradigm: _sum([changed.get(name, before[name]) for name in names])
        for paradigm, changed in after.items()
    }
    return Confusions(before=_sum([before[name] for name in names]), **summed)


def _sum(figures: Sequence[Quality]) -> Table:
    classes = range(len(figures[0].per_class))
    table = [[0 for _ in classes] for _ in classes]
    for truth, predicted, samples in (cell for figure in figures for cell in figure.confusion):
        table[truth][predicted] += samples
    return tuple(map(tuple, table))
