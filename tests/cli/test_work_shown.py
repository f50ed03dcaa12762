# SPDX-License-Identifier: Apache-2.0
"""The plan that is shown before a request is signed, against the request that was carried out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from blockful_py.cli.console import Output
from blockful_py.cli.work_shown import planned, say_plan
from blockful_py.explorer.database import IndexReader
from blockful_py.explorer.forecast import forecast
from blockful_py.explorer.index import RecordIndex
from blockful_py.explorer.watched import watched_run
from blockful_py.forget import Forget
from blockful_py.member.endpoints import Urls
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.reach import reach
from tests.adopt.model_folders import write_model
from tests.adopt.records import adopted


def test_the_plan_states_cost_and_deadline(
    tmp_path: Path, chains: Nodes, capsys: pytest.CaptureFixture[str]
) -> None:
    write_model(tmp_path / "models" / "base", 1, datasets=["wiki"])
    for number in range(2, 14):
        write_model(tmp_path / "models" / f"heir-{number}", number, base_model="base")
    write_model(tmp_path / "models" / "small", 20, base_model="base", base_model_relation="quantized")
    with adopted(tmp_path / "models", tmp_path / "run", chains) as record:
        chunk = record.settings.chain.chunk_models
        plan = say_plan(record.catalogue(), reach(record.catalogue(), ["wiki"]), chunk, Output(False))
        what_if = _forecast(record, tmp_path / "before")
        done = record.unlearn(forget=Forget.of_datasets(["wiki"]))
        nothing = _forecast(record, tmp_path / "after")
        left = planned(record.catalogue(), reach(record.catalogue(), ["wiki"]), chunk)[1]
    spent = sum(each.receipt.gas_used for each in done.executed)
    assert plan["gas"] == pytest.approx(spent, rel=0.05)
    assert (len(plan["models"]), plan["trainings"], plan["deadline"]) == (14, 13, None)
    shown = capsys.readouterr().out
    assert f"about {plan['gas']:,} gas on both chains" in shown
    assert "Owners are asked for 13 trainings, without a deadline" in shown
    assert (left["models"], left["gas"], left["trainings"], left["certificates"]) == ({}, 0, 0, 0)
    (paradigm,) = what_if["paradigms"]
    assert (what_if["affected"], what_if["trainings"]) == (14, 13)
    assert (paradigm["gas"], paradigm["deadline"]) == (plan["gas"], None), "the explorer shows the same"
    assert (nothing["affected"], nothing["trainings"], nothing["paradigms"][0]["gas"]) == (0, 0, 0)


def _forecast(record: Federation, folder: Path) -> dict[str, Any]:
    """The explorer's answer on a request that starts at the base."""
    contracts, place = record.contracts, record.catalogue()["base"].position
    urls = Urls(contracts.live.node.url, contracts.archive.node.url)
    with (
        watched_run(record.run.path, urls, folder / "events") as watched,
        RecordIndex(folder / "index.sqlite", watched.sources()) as index,
    ):
        index.follow()
    with IndexReader(folder / "index.sqlite").moment() as connection:
        return forecast(connection, [place], record.settings.chain.chunk_models, 1_000, {})
