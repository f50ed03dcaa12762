# SPDX-License-Identifier: Apache-2.0
"""The smallest `blockful experiment scale`: simulated points, claims, growth and the drawing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.commands import blockful

SMALL = ("experiment", "scale", "--size", "0.002", "--models", "100", "--members", "100", "--seeds", "5-6")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("scale")
    found = blockful(base, *SMALL, "--output", "scale")
    assert found.status == 0, found.err
    assert "| a | Sequential throughput decreases as requests grow, with both. |" in found.out
    return base


def test_everything_is_written(folder: Path) -> None:
    document = json.loads((folder / "scale" / "scale.json").read_text(encoding="utf-8"))
    assert len(document["points"]) == 72
    assert len(document["claims"]) == 16
    assert {each["verdict"] for each in document["claims"]} <= {"confirmed", "in part", "refuted"}
    assert all(each["throughput"]["n"] == 2 for each in document["points"])
    assert [each["x"] for each in document["growth"]] == [96, 100]
    text = (folder / "scale" / "scale.md").read_text(encoding="utf-8")
    assert all(each["claim"] in text for each in document["claims"])
    assert (folder / "scale" / "scale.png").read_bytes().startswith(b"\x89PNG")


def test_a_rerun_simulates_only_what_is_missing(folder: Path) -> None:
    files = {path: path.stat().st_mtime_ns for path in (folder / "scale" / "simulated").glob("*.json")}
    gone = folder / "scale" / "simulated" / "ab-pbft-1.json"
    gone.unlink()
    before = (folder / "scale" / "scale.md").read_text(encoding="utf-8")
    assert blockful(folder, *SMALL, "--output", "scale").status == 0
    again = {path: path.stat().st_mtime_ns for path in (folder / "scale" / "simulated").glob("*.json")}
    assert {path for path in files if again[path] != files[path]} == {gone}
    assert (folder / "scale" / "scale.md").read_text(encoding="utf-8") == before


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--size", "0"), "--size is above 0 and at most 1, not 0."),
        (("--size", "1.5"), "--size is above 0 and at most 1, not 1.5."),
        (("--models", "99"), "the growth begins with 100 models"),
        (("--seeds", "1"), "seeds 1 are for tuning"),
    ],
)
def test_bad_options_are_one_clear_error(folder: Path, words: tuple[str, str], reason: str) -> None:
    found = blockful(folder, *SMALL, "--output", "scale", *words)
    assert found.status == 2
    assert reason in found.error


def test_everything_is_rendered_from_the_document(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "scale").mkdir()
    told = (folder / "scale" / "scale.json").read_bytes()
    (tmp_path / "scale" / "scale.json").write_bytes(told)
    assert blockful(tmp_path, *SMALL, "--render-only", "--output", "scale").status == 0
    for name in ("scale.json", "scale.md", "scale.png"):
        assert (tmp_path / "scale" / name).read_bytes() == (folder / "scale" / name).read_bytes()
    found = blockful(tmp_path, *SMALL, "--render-only", "--output", "none")
    assert "none has no scale.json: leave --render-only out." in found.error


def test_a_damaged_file_is_named(folder: Path) -> None:
    damaged = folder / "scale" / "simulated" / "cd-pow-10.json"
    assert damaged.exists()
    text = damaged.read_text(encoding="utf-8")
    try:
        damaged.write_text("{}", encoding="utf-8")
        found = blockful(folder, *SMALL, "--output", "scale")
        assert found.status == 5
        assert "cd-pow-10.json is no result of this experiment" in found.error
    finally:
        damaged.write_text(text, encoding="utf-8")
