# SPDX-License-Identifier: Apache-2.0
"""A live federation struck at random loses and repeats no work; losses would be reported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.confinement import require_namespaces
from tests.participant.chaos import run, table
from tests.participant.whole import Work

SEQUENTIAL = Work("sequential", ("s", "x"), (), {"r": 0, "s": 0, "x": 1}, request=1)
PARALLEL = Work("parallel", ("s",), ("x",), {"r": 0, "s": 0, "x": 1}, request=1)
PUBLICATION = Work("publication", ("s",), (), {"r": 0})


@pytest.mark.processes
@pytest.mark.timeout(3600)
def test_a_federation_that_is_struck_loses_nothing_and_does_nothing_twice(tmp_path: Path) -> None:
    require_namespaces()
    assert run(2, 1, tmp_path / "chaos.json", tmp_path / "logs") == 0
    trials = json.loads((tmp_path / "chaos.json").read_text(encoding="utf-8"))["trials"]
    assert all(trial["calamities"] for trial in trials)
    assert "| all | 2 |" in table(trials)


@pytest.mark.parametrize(
    ("work", "versions"),
    [
        (SEQUENTIAL, {"r": 0, "s": 1, "x": 2}),
        (PARALLEL, {"r": 0, "s": 1, "x": 1}),
        (PARALLEL, {"r": 0, "s": 1, "x": 2}),
        (PUBLICATION, {"r": 0, "s": 0}),
    ],
)
def test_work_that_was_done_once_is_right(work: Work, versions: dict[str, int]) -> None:
    assert [*work.misdone(versions)] == []


@pytest.mark.parametrize(
    ("work", "versions", "wrong"),
    [
        (SEQUENTIAL, {"r": 0, "s": 2, "x": 2}, "s went from version 0 to 2"),
        (SEQUENTIAL, {"r": 1, "s": 1, "x": 2}, "r went from version 0 to 1"),
        (SEQUENTIAL, {"s": 1, "x": 2}, "r went from version 0 to -1"),
        (PARALLEL, {"r": 0, "s": 1, "x": 3}, "x went from version 1 to 3"),
        (PARALLEL, {"r": 0, "s": 0, "x": 1}, "s went from version 0 to 0"),
        (PUBLICATION, {"r": 0, "s": 1}, "s went from version -1 to 1"),
    ],
)
def test_what_is_lost_or_done_twice_is_told(work: Work, versions: dict[str, int], wrong: str) -> None:
    assert [*work.misdone(versions)] == [wrong]
