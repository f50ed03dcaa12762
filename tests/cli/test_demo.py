# SPDX-License-Identifier: Apache-2.0
"""The demo: the same bits twice, and nothing left of one that is interrupted."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import SECONDS, begin, blockful, end, nodes_of, wait_for_line
from tests.federations import AFFECTED, GRAPH, TOML


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two demos of one seed, in folders of their own; the second one's as JSON."""
    first, second = (tmp_path_factory.mktemp("demo") for _ in range(2))
    running = {}
    for folder, arguments in ((first, ()), (second, ("--json",))):
        (folder / "small.toml").write_text(TOML)
        running[folder] = begin(folder, "demo", "small.toml", "--output", "runs/one", *arguments)
    for folder, process in running.items():
        out, err = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, err
        (folder / "output.txt").write_text(out)
    return first, second


def _report(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "runs" / "one" / "report.json").read_text())
    return document


def test_the_same_seed_gives_the_same_report_apart_from_seconds(runs: tuple[Path, Path]) -> None:
    first, second = map(_report, runs)
    assert first.pop("seconds").keys() == second.pop("seconds").keys()
    assert first == second
    assert first["gas"]


def test_the_same_seed_draws_the_same_graph(runs: tuple[Path, Path]) -> None:
    first, second = ((folder / "runs" / "one" / "inheritance.png").read_bytes() for folder in runs)
    assert first.startswith(b"\x89PNG")
    assert first == second


def test_json_is_exactly_the_report(runs: tuple[Path, Path]) -> None:
    assert json.loads((runs[1] / "output.txt").read_text()) == _report(runs[1])


def test_the_table_names_the_report_and_the_models(runs: tuple[Path, Path]) -> None:
    text = (runs[0] / "output.txt").read_text()
    assert "runs/one" in text
    for name in AFFECTED:
        assert f" {name} " in text


def test_the_report_holds_what_it_must(runs: tuple[Path, Path]) -> None:
    report = _report(runs[0])
    assert [model["name"] for model in report["models"]] == list(GRAPH)
    for paradigm in ("parallel", "sequential"):
        counted, formula = (report["operations"][paradigm][side] for side in ("counted", "formula"))
        assert counted == formula
    assert report["verification"]["failed"] == []
    assert report["seed"] == 0
    assert report["confusions"].keys() == {"before", "parallel", "sequential"}
    curves = [model["learning_curve"] for model in report["models"]]
    assert [(len(curve["loss"]), len(curve["accuracy"])) for curve in curves] == [(1, 1)] * len(GRAPH)
    assert (runs[0] / "runs" / "latest" / "report.html").is_file()


def test_both_records_of_a_demo_can_be_verified_later(runs: tuple[Path, Path]) -> None:
    for paradigm in ("parallel", "sequential"):
        outcome = blockful(runs[0], "verify", "--run", f"runs/one/{paradigm}", "--json")
        assert outcome.document == {"checked": len(GRAPH), "decrypted": 0, "failed": []}
    assert nodes_of(runs[0]) == []


def test_the_models_of_a_demo_are_scored_class_by_class(runs: tuple[Path, Path]) -> None:
    folder, run = runs[0], ("--run", "runs/one/parallel")
    everyone = blockful(folder, "evaluate", *run, "--plot", "classes.png", "--json").document["models"]
    assert everyone.keys() == GRAPH.keys()
    reported = {model["name"]: model for model in _report(folder)["models"]}
    for name, found in everyone.items():
        stands = reported[name]["parallel"] or reported[name]["before"]
        assert stands["per_class"] == pytest.approx([100 * share for share in found["per_class"]], abs=1e-3)
        assert stands["calibration_error"] == pytest.approx(100 * found["calibration_error"], abs=1e-3)
        assert sum(map(sum, found["confusion"])) == 400
    one = blockful(folder, "evaluate", "x", *run, "--plot", "x.png")
    assert one.out.startswith("x     accuracy")
    drawn = [(folder / name).read_bytes() for name in ("classes.png", "x.png")]
    assert drawn[0] != drawn[1] and all(png.startswith(b"\x89PNG") for png in drawn)
    assert "there is no model 'nobody'" in blockful(folder, "evaluate", "nobody", *run).error
    unwritable = blockful(folder, "evaluate", "x", *run, "--plot", "no/such/folder.png")
    assert "cannot be written" in unwritable.error and unwritable.status == 1


@pytest.mark.parametrize("stage", ["start two chains", "train and publish"])
def test_an_interrupted_demo_leaves_nothing(runs: tuple[Path, Path], stage: str) -> None:
    folder = runs[0]
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


def test_a_killed_demo_leaves_no_node(runs: tuple[Path, Path]) -> None:
    process = begin(runs[0], "demo", "small.toml", "--output", "runs/killed")
    wait_for_line(process, "train and publish")
    assert len(nodes_of(runs[0])) == 2
    end(process, signal.SIGKILL)
    while nodes_of(runs[0]):
        pass
    assert (runs[0] / "runs" / "latest").readlink() == Path("one")
