# SPDX-License-Identifier: Apache-2.0
"""What the list of requests says of models that were replaced, wait, or were left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from blockful_py.explorer.database import IndexReader
from blockful_py.explorer.index import RecordIndex
from blockful_py.explorer.requests_page import request_list
from tests.explorer.generated import GeneratedFederation


@pytest.fixture
def federation() -> GeneratedFederation:
    made = GeneratedFederation(users=5, references=2)
    made.publish(20)
    return made


def counts(federation: GeneratedFederation, path: Path) -> tuple[int, int, int]:
    """Models affected, replaced and left alone, as an index that is read on to here has them."""
    with RecordIndex(path, federation.sources()) as index:
        index.follow()
    with IndexReader(path).moment() as connection:
        (heading,) = request_list(connection, audited=False)
    return heading["affected"], heading["replaced"], heading["left_alone"]


def test_what_passing_left_alone_is_told_once_the_whole_decision_is_executed(
    federation: GeneratedFederation, tmp_path: Path
) -> None:
    rows = federation.descendants([0])
    chunks = federation.forget_in_chunks([0], rows[:2], rows[2:3])
    assert next(chunks) == 1
    assert counts(federation, tmp_path / "index") == (len(rows), 2, 0)
    assert next(chunks) == 2
    assert counts(federation, tmp_path / "index") == (len(rows), 3, len(rows) - 3)


@pytest.mark.parametrize(("starts", "paradigm"), [([0, 1], "parallel"), ([0], "sequential")])
def test_what_waits_for_a_start_or_for_its_turn_is_not_left_alone(
    federation: GeneratedFederation, tmp_path: Path, starts: list[int], paradigm: str
) -> None:
    list(federation.forget_in_chunks(starts, [0], paradigm=paradigm))
    assert counts(federation, tmp_path / "index") == (len(federation.descendants(starts)), 1, 0)


def test_a_model_whose_node_cannot_be_read_is_not_taken_for_left_alone(
    federation: GeneratedFederation, tmp_path: Path
) -> None:
    rows = federation.forget([0])
    federation.lose(rows[-1])
    assert counts(federation, tmp_path / "index") == (len(rows), len(rows) - 1, 0)
