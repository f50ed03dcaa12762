# SPDX-License-Identifier: Apache-2.0
"""The demo: the same bits on embedded chains and on Ganache, and nothing left of one that is interrupted."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import begin, blockful, end, nodes_of, wait_for_line
from tests.federations import AFFECTED, GRAPH, TOML


def _demo(folder: Path, *arguments: str) -> Path:
    """Runs the demo in a folder and writes its output to output.txt."""
    (folder / "small.toml").write_text(TOML)
    shown = blockful(folder, "demo", "small.toml", "--output", "runs/one", *arguments)
    assert shown.status == 0, shown.err
    (folder / "output.txt").write_text(shown.out)
    return folder


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _demo(tmp_path_factory.mktemp("demo"), "--set", "chain.devnet=embedded")


@pytest.fixture(scope="module")
def as_json(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _demo(tmp_path_factory.mktemp("demo"), "--json", "--set", "chain.devnet=ganache")


def _report(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "runs" / "one" / "report.json").read_text())
    return document


def _node(report: dict[str, Any]) -> str:
    return str(report["versions"]["node"])


def _without_nodes(report: dict[str, Any]) -> dict[str, Any]:
    """A report apart from seconds and from what says which nodes its chains are on."""
    kept = {name: part for name, part in report.items() if name != "seconds"}
    kept["versions"] = {name: each for name, each in report["versions"].items() if name != "node"}
    kept["chains"] = {
        name: {key: each for key, each in chain.items() if key != "client"}
        for name, chain in report["chains"].items()
    }
    chain = {name: each for name, each in report["settings"]["chain"].items() if name != "devnet"}
    kept["settings"] = {**report["settings"], "chain": chain}
    return kept


@pytest.mark.slow
def test_ganache_and_embedded_chains_give_the_same_report_apart_from_seconds(
    demo: Path, as_json: Path
) -> None:
    first, second = _report(demo), _report(as_json)
    assert first["seconds"].keys() == second["seconds"].keys()
    assert _node(first).startswith("embedded/") and _node(second).startswith("Ganache/")
    assert _without_nodes(first) == _without_nodes(second)
    assert first["gas"]


@pytest.mark.slow
def test_the_same_seed_draws_the_same_graph(demo: Path, as_json: Path) -> None:
    pages = ((folder / "runs" / "one" / "report.html").read_text() for folder in (demo, as_json))
    first, second = (re.findall(r'<svg class="lineage".*?</svg>', page, re.DOTALL) for page in pages)
    assert len(first) == 1
    assert first == second


@pytest.mark.slow
def test_json_is_exactly_the_report(as_json: Path) -> None:
    assert json.loads((as_json / "output.txt").read_text()) == _report(as_json)


def test_the_table_names_the_report_and_the_models(demo: Path) -> None:
    text = (demo / "output.txt").read_text()
    assert "runs/one" in text
    for name in AFFECTED:
        assert f" {name} " in text


def test_the_report_holds_what_it_must(demo: Path) -> None:
    report = _report(demo)
    assert [model["name"] for model in report["models"]] == list(GRAPH)
    for paradigm in ("parallel", "sequential"):
        counted, formula = (report["operations"][paradigm][side] for side in ("counted", "formula"))
        assert counted == formula
    assert report["verification"]["failed"] == []
    assert report["seed"] == 0
    assert report["confusions"].keys() == {"before", "parallel", "sequential"}
    curves = [model["learning_curve"] for model in report["models"]]
    assert [(len(curve["loss"]), len(curve["accuracy"])) for curve in curves] == [(1, 1)] * len(GRAPH)
    assert (demo / "runs" / "latest" / "report.html").is_file()


def test_both_records_of_a_demo_can_be_verified_later(demo: Path) -> None:
    for paradigm in ("parallel", "sequential"):
        outcome = blockful(demo, "verify", "--run", f"runs/one/{paradigm}", "--json")
        assert outcome.document == {
            "checked": len(GRAPH),
            "known": 0,
            "decrypted": 0,
            "failed": [],
            "pending": [],
        }
    assert nodes_of(demo) == []


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["start two chains", "train and publish"])
def test_an_interrupted_demo_leaves_nothing(demo: Path, stage: str) -> None:
    folder = demo
    latest = (folder / "runs" / "latest").readlink()
    process = begin(folder, "demo", "small.toml", "--output", "runs/two")
    wait_for_line(process, stage)
    outcome = end(process, signal.SIGINT)
    assert outcome.status == 130
    assert "interrupted; the processes of this command were stopped" in outcome.err
    assert "Traceback" not in outcome.err
    assert outcome.out == ""
    assert nodes_of(folder) == []
    assert not (folder / "runs" / "two").exists()
    assert (folder / "runs" / "latest").readlink() == latest


@pytest.mark.slow
def test_a_killed_demo_leaves_no_node(demo: Path) -> None:
    process = begin(demo, "demo", "small.toml", "--output", "runs/killed")
    wait_for_line(process, "train and publish")
    assert len(nodes_of(demo)) == 2
    end(process, signal.SIGKILL)
    while nodes_of(demo):
        pass
    assert (demo / "runs" / "latest").readlink() == Path("one")
