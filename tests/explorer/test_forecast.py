# SPDX-License-Identifier: Apache-2.0
"""Forecasts follow the cost model and the gas of earlier transactions."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from blockful_py import costs
from blockful_py.explorer.database import IndexReader
from blockful_py.explorer.durations import Duration, forecast_before
from blockful_py.explorer.forecast import BASE, fit_gas, forecast, past
from blockful_py.explorer.index import RecordIndex
from blockful_py.explorer.sources import SentReceipt
from blockful_py.pipeline.review.methods import how_checked, parse_method
from blockful_py.record.request import Request
from blockful_py.record.shown import checked_by_members
from blockful_py.types import Paradigm
from blockful_py.unlearning.method import Review
from blockful_py.unlearning.registry import FOR_ADOPTED, METHODS
from tests.explorer.generated import GeneratedFederation
from tests.packed_records import SIZE

FIXED, HASH, RECORD = 40_000, 15_000, 50_000
SIGNED = [name for name in METHODS.keys() - FOR_ADOPTED if METHODS[name].review is not Review.NONE]
"""Methods whose results members sign."""


class Linear(GeneratedFederation):
    """Gas that grows with the size of a transaction."""

    def sources(self) -> Any:
        sources = super().sources()
        for source in sources.receipts.values():
            source.receipts = lambda hashes, log=source.log: [self.gas(log.events, each) for each in hashes]
        return sources

    def gas(self, events: Any, sent: bytes) -> SentReceipt:
        own = [each for each in events if each.transaction_hash == sent]
        hashes = sum(each.name in ("HeaderRedacted", "ModelRedacted") for each in own)
        records = sum(len(each.arguments["records"]) // SIZE for each in own if each.name == "Archived")
        return SentReceipt(FIXED + HASH * hashes + RECORD * records, 1_767_225_600)


@pytest.fixture
def federation() -> Linear:
    made = Linear(users=5, references=2)
    made.publish(20)
    return made


def indexed(federation: GeneratedFederation, path: Path) -> IndexReader:
    with RecordIndex(path / "index", federation.sources()) as index:
        index.follow()
    return IndexReader(path / "index")


def test_operations_are_those_of_the_cost_model(federation: Linear, tmp_path: Path) -> None:
    rows = federation.descendants([3, 6])
    blocks = len({federation.positions[row].height for row in rows})
    with indexed(federation, tmp_path).moment() as connection:
        found = forecast(connection, [federation.positions[3], federation.positions[6]], 100, 1_000, {})
    assert (found["affected"], found["blocks"]) == (len(rows), blocks)
    parallel, sequential = found["paradigms"]
    expected = costs.expected_parallel(len(rows), blocks)
    assert (parallel["chameleon_hashes"], parallel["consensus"]) == (expected.chameleon_hashes, 1)
    downloads = len(rows) + sum(len(federation.references[row]) for row in rows if row != 3)
    assert sequential["downloads"] == downloads
    assert parallel["gas"] == costs.MEASURED_GAS.of(Paradigm.PARALLEL, len(rows), blocks, 100)
    assert (parallel["deadline"], sequential["deadline"], found["trainings"]) == (None, None, None)
    assert parallel["times"] == []


def test_owners_among_machines_have_a_deadline(federation: Linear, tmp_path: Path) -> None:
    reader, start = indexed(federation, tmp_path), federation.positions[3]
    with closing(sqlite3.connect(tmp_path / "index")) as file, file:
        file.execute("INSERT INTO participant VALUES (?, 1, 'joined')", (bytes(20),))
    with reader.moment() as connection:
        found = forecast(connection, [start], 100, 1_000, {})
    parallel, sequential = found["paradigms"]
    assert found["longest"] > 0
    assert (parallel["deadline"], sequential["deadline"]) == (1_000, 1_000 * (1 + found["longest"]))


def test_gas_is_fitted_to_redactions_of_several_sizes(federation: Linear, tmp_path: Path) -> None:
    federation.forget([3])
    federation.forget([6], "sequential")
    with indexed(federation, tmp_path).moment() as connection:
        fit = fit_gas(connection)
        found = forecast(connection, [federation.positions[1]], 100, 1_000, {})
    assert fit is not None
    assert (fit.gas.live, fit.gas.hash) == pytest.approx((FIXED, HASH))
    assert (fit.gas.archive, fit.gas.record) == pytest.approx((FIXED, RECORD))
    models, blocks = found["affected"], found["blocks"]
    parallel, sequential = found["paradigms"]
    assert parallel["gas"] == pytest.approx(2 * FIXED + HASH * (models + blocks) + RECORD * models, abs=1)
    assert sequential["gas"] == pytest.approx(models * (2 * FIXED + 2 * HASH + RECORD), abs=models)


def test_one_size_alone_takes_the_base_cost_of_a_transaction(federation: Linear, tmp_path: Path) -> None:
    rows = federation.forget([3])
    blocks = len({federation.positions[row].height for row in rows})
    with indexed(federation, tmp_path).moment() as connection:
        fit = fit_gas(connection)
    assert fit is not None
    assert fit.gas.live == BASE
    assert fit.gas.live + fit.gas.hash * (len(rows) + blocks) == pytest.approx(
        FIXED + HASH * (len(rows) + blocks)
    )


def test_a_past_request_is_forecast_from_what_was_before_it(federation: Linear, tmp_path: Path) -> None:
    federation.forget([3])
    federation.forget([6], "sequential")
    federation.forget([9], "sequential")
    with indexed(federation, tmp_path).moment() as connection:
        first, *others = past(connection, 100, ())
    assert first["forecast"] is None
    assert others[-1]["forecast"] == pytest.approx(others[-1]["gas"], rel=0.001)


def test_seconds_are_forecast_from_requests_before_by_the_same_method() -> None:
    took = [
        Duration(b"1", "parallel", "passing", 2, 4.0),
        Duration(b"2", "parallel", "passing", 3, 12.0),
        Duration(b"3", "parallel", "retrain", 1, 50.0),
        Duration(b"4", "sequential", "passing", 1, 9.0),
        Duration(b"5", "parallel", "passing", 10, 31.0),
    ]
    assert forecast_before(took, b"1") == (None, 4.0)
    assert forecast_before(took, b"2") == (6.0, 12.0)
    assert forecast_before(took, b"4") == (None, 9.0)
    assert forecast_before(took, b"5") == (30.0, 31.0)
    assert forecast_before(took, b"6") == (None, None)


@pytest.mark.parametrize("paradigm", list(Paradigm))
@pytest.mark.parametrize(
    "asked", [{"classes": (3,)}, {"clients": (2,)}, {"samples": ("1:2",)}, {"datasets": ("wiki",)}]
)
@pytest.mark.parametrize("method", sorted(SIGNED))
def test_how_members_check_is_what_they_do(paradigm: Paradigm, asked: dict[str, Any], method: str) -> None:
    request = Request.model_validate(
        {
            "starts": ({"name": "a", "position": "1:0"},),
            "paradigm": paradigm.value,
            "method": method + " {}",
            "created": 0,
            **asked,
        }
    )
    expected = how_checked(parse_method(request.method), request.forget, paradigm)
    assert checked_by_members(request) is expected
