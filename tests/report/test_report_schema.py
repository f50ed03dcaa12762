# SPDX-License-Identifier: Apache-2.0
"""The file report.json has its specified content, reads back, and invalid reports are refused."""

from __future__ import annotations

import json
import math

import pytest
from pydantic import ValidationError

from blockful_py.costs import Operations
from blockful_py.errors import RunError
from blockful_py.report.schema import Report
from blockful_py.report.sections import Accuracies, Gas, OperationsCheck, VerificationRun, VerificationSection
from tests.report.made_up import paper_references, report_of


def test_json_holds_what_a_reader_relies_on(paper14: Report) -> None:
    data = json.loads(paper14.to_bytes())
    assert data["format"] == "blockful-report/1"
    model = next(entry for entry in data["models"] if entry["name"] == "r8")
    assert model["position"] == {"height": 2, "index": 3}
    assert model["references"] == ["r6", "r4"]
    assert {"owner", "depth", "affected", "start", "below_epsilon", "cid", "user"} <= set(model)
    assert {"ad_f", "ad_r"} <= set(model["before"])
    assert {"ad_f", "ad_r", "version", "cid"} <= set(model["parallel"]) & set(model["sequential"])
    for paradigm in ("parallel", "sequential"):
        check = data["operations"][paradigm]
        assert check["counted"] == check["formula"]
        assert set(check["counted"]) == {
            "ch_transactions",
            "ch_blocks",
            "consensus",
            "uploads",
            "downloads",
        }
        assert {"archive", "live", "total", "per_model"} <= set(data["gas"][paradigm])
        assert data["seconds"][paradigm]
    assert data["verification"]["checked"] == 42
    assert data["verification"]["failed"] == []
    assert {"seed", "versions", "settings", "chains", "depth", "forget", "method"} <= set(data)


def test_a_report_reads_back_as_it_was_and_writes_the_same_bytes(organic60: Report) -> None:
    data = organic60.to_bytes()
    assert Report.from_bytes(data) == organic60
    assert Report.from_bytes(data).to_bytes() == data
    assert data.endswith(b"}\n")


def test_only_seconds_differ_between_two_runs_of_a_seed() -> None:
    one = report_of(paper_references(), ("r5", "r7"), train_seconds=1.0)
    two = report_of(paper_references(), ("r5", "r7"), train_seconds=2.0)
    assert one.to_bytes() != two.to_bytes()
    assert one.without_times() == two.without_times()


@pytest.mark.parametrize(
    ("defect", "said"),
    [
        (lambda data: data.replace(b"blockful-report/1", b"blockful-report/0"), "format"),
        (lambda data: data[: len(data) // 2], "JSON"),
        (lambda data: data.replace(b'"ch_blocks"', b'"ch_block"'), "counted.ch_blocks"),
        (lambda data: data.replace(b'"seed"', b'"sead"'), "seed"),
        (lambda data: data.replace(b'"r8"', b'"r7"'), "one name"),
        (lambda data: data.replace(b'"name": "r1"', b'"name": "r99"'), "r1"),
    ],
    ids=["other-version", "truncated", "missing-counter", "unknown-key", "two-of-a-name", "lost-model"],
)
def test_what_is_not_a_report_is_refused_with_the_place(paper14: Report, defect, said: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(RunError, match="not a blockful-report/1 report") as caught:
        Report.from_bytes(defect(paper14.to_bytes()))
    assert said in str(caught.value)


@pytest.mark.parametrize("value", [-0.1, 100.1, math.nan, math.inf])
def test_an_accuracy_is_a_percentage(value: float) -> None:
    with pytest.raises(ValidationError):
        Accuracies(ad_f=value)
    assert Accuracies(ad_f=100, ad_r=None).ad_f == 100


def test_gas_a_model_is_rounded_up_and_zero_models_cost_nothing() -> None:
    gas = Gas.spent(archive=5, live=6, models=2, transactions=3)
    assert (gas.total, gas.per_model) == (11, 6)
    assert Gas.spent(archive=0, live=0, models=0, transactions=0).per_model == 0


def test_counts_that_differ_from_the_formula_are_not_equal() -> None:
    assert OperationsCheck.of(counted=Operations(1), formula=Operations(1)).equal
    assert not OperationsCheck.of(counted=Operations(1), formula=Operations(2)).equal


def test_verifications_add_up() -> None:
    section = VerificationSection.of_runs(
        published=VerificationRun(checked=14), sequential=VerificationRun(checked=7)
    )
    assert (section.checked, section.failed, section.parallel) == (21, (), None)
