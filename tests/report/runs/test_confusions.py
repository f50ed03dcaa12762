# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from blockful_py.learning.metrics import Quality
from blockful_py.report.runs.confusions import confusions
from blockful_py.report.sections import READABLE_CLASSES


def quality(*rows: tuple[int, ...]) -> Quality:
    cells = [(i, j, count) for i, row in enumerate(rows) for j, count in enumerate(row) if count]
    return Quality(0.5, tuple(0.5 for _ in rows), tuple(cells), 0.1, ())


BEFORE = {"a": quality((3, 1), (0, 4)), "b": quality((4, 0), (2, 2)), "c": quality((4, 0), (0, 4))}


def test_tables_are_summed_over_the_models_concerned_and_those_left_alone_count_as_before() -> None:
    after = {"parallel": {"a": quality((0, 4), (0, 4))}}
    found = confusions(("a", "b"), BEFORE, after)
    assert found is not None
    assert found.before == ((7, 1), (2, 6))
    assert found.parallel == ((4, 4), (2, 6))
    assert found.sequential is None


def test_nothing_is_said_of_no_model_or_of_more_classes_than_anybody_reads() -> None:
    assert confusions((), BEFORE, {}) is None
    for classes, is_shown in ((READABLE_CLASSES, True), (READABLE_CLASSES + 1, False)):
        table = quality(*[(1,) * classes] * classes)
        assert (confusions(("a",), {"a": table}, {}) is not None) == is_shown
