# SPDX-License-Identifier: Apache-2.0
"""The list of requests describes models that were replaced, wait, or were left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from blockful_py.explorer.affected import affected_models
from blockful_py.explorer.database import IndexReader
from blockful_py.explorer.index import RecordIndex
from blockful_py.explorer.lists import models_at, summary
from blockful_py.explorer.requests_page import decisions_of, request_list, requests_reaching
from blockful_py.record.request import Request
from blockful_py.types import Checked
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


def test_a_model_that_was_replaced_twice_is_one_replaced_model(
    federation: GeneratedFederation, tmp_path: Path
) -> None:
    rows = federation.forget([0])
    assert federation.forget([0]) == rows
    assert counts(federation, tmp_path / "index") == (len(rows), len(rows), 0)
    with IndexReader(tmp_path / "index").moment() as connection:
        assert summary(connection)["replaced"] == len(rows)


@pytest.mark.parametrize(("starts", "paradigm"), [([0, 1], "parallel"), ([0], "sequential")])
def test_what_waits_for_a_start_or_for_its_turn_is_not_left_alone(
    federation: GeneratedFederation, tmp_path: Path, starts: list[int], paradigm: str
) -> None:
    list(federation.forget_in_chunks(starts, [0], paradigm=paradigm))
    assert counts(federation, tmp_path / "index") == (len(federation.descendants(starts)), 1, 0)


def test_a_request_reaches_what_it_affects_and_nothing_else(
    federation: GeneratedFederation, tmp_path: Path
) -> None:
    rows = federation.descendants([3, 7])
    list(federation.forget_in_chunks([3, 7], rows[:2]))
    with RecordIndex(tmp_path / "index", federation.sources()) as index:
        index.follow()
    with IndexReader(tmp_path / "index").moment() as connection:
        found = [requests_reaching(connection, each, audited=False) for each in federation.positions]
    assert [row for row, each in enumerate(found) if each] == rows
    assert [found[row][0]["version"] for row in rows] == [1, 1, *[None] * (len(rows) - 2)]


def test_a_model_whose_node_cannot_be_read_is_not_taken_for_left_alone(
    federation: GeneratedFederation, tmp_path: Path
) -> None:
    rows = federation.forget([0])
    federation.lose(rows[-1])
    assert counts(federation, tmp_path / "index") == (len(rows), len(rows) - 1, 0)


def test_affected_models_have_figures_before_and_an_alarm(
    federation: GeneratedFederation, tmp_path: Path
) -> None:
    rows = federation.forget([0])
    assert federation.forget([0], number=5, damaged=rows[1:2]) == rows
    with RecordIndex(tmp_path / "index", federation.sources()) as index:
        index.follow()
    with IndexReader(tmp_path / "index").moment() as connection:
        found = connection.execute("SELECT key, document FROM request ORDER BY document").fetchall()
        (_, (key, document)) = found
        request = Request.model_validate_json(document)
        models = affected_models(connection, key, request, None, audited=True)
        public = affected_models(connection, key, request, None, audited=False)
        listed = models_at(connection, [each.packed for each in federation.positions])
    assert request.classes == (5,)
    lost = str(federation.positions[rows[1]])
    assert [each["position"] for each in models if each["at_chance"]] == [lost]
    assert [each["position"] for each in listed if each["at_chance"]] == [lost]
    assert [each["position"] for each in models if each["is_loss"]] == [lost]
    measured = {"ad_f": 0.9, "ad_r": 0.95, "logit_auc": 0.99}  # for this request
    assert all(each["before"] == {**measured, "accuracy": None} for each in public)
    assert all(each["before"].items() >= measured.items() for each in models)
    assert all(each["after"]["logit_auc"] == 0.92 for each in public)


def test_a_decision_tells_how_members_checked_its_models_and_which_it_withdrew(
    federation: GeneratedFederation, tmp_path: Path
) -> None:
    """Means of references are recomputed, whatever the request's method is; a withdrawn model is not."""
    rows = federation.leave(0)
    with RecordIndex(tmp_path / "index", federation.sources()) as index:
        index.follow()
    with IndexReader(tmp_path / "index").moment() as connection:
        ((key,),) = connection.execute("SELECT key FROM request").fetchall()
        withdrawn, *means = decisions_of(connection, key)
    assert [each["withdrawn"] for each in withdrawn["models"]] == [True]
    assert withdrawn["review"]["checked"] is None
    assert len(means) == len(rows) - 1 > 0
    assert {each["review"]["checked"] for each in means} == {Checked.EXACT}
    assert not any(model["withdrawn"] for each in means for model in each["models"])
