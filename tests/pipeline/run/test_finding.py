# SPDX-License-Identifier: Apache-2.0
"""The link `runs/latest` names the newest run, and a path names a run or a demo's run."""

from __future__ import annotations

from pathlib import Path

import pytest

from blockful_py.errors import RunError
from blockful_py.pipeline.run.finding import followed, located, point_latest


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


def made(run: Path) -> Path:
    run.mkdir(parents=True)
    (run / "run.json").write_text("{}")
    return run


def test_latest_follows_the_newest_run_and_survives_a_move(runs: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert point_latest(made(runs / name)) == runs / "latest"
        assert located(runs / "latest").resolve() == runs / name
    assert sorted(path.name for path in runs.iterdir()) == ["latest", "one", "two"]
    runs.rename(tmp_path / "moved")
    assert located(tmp_path / "moved" / "latest").resolve().name == "two"


def test_a_relative_run_is_pointed_to_as_well(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(runs / "one")
    monkeypatch.chdir(runs)
    assert point_latest(Path("one")) == Path("latest")
    assert (runs / "latest").readlink() == Path("one")


def test_a_run_elsewhere_leaves_no_link(tmp_path: Path) -> None:
    assert point_latest(made(tmp_path / "mine")) is None
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_latest_is_a_text_file_where_links_are_not_possible(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no symbolic links here")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    latest = point_latest(made(runs / "one"))
    assert latest is not None and latest.read_text() == "one\n"
    assert located(latest) == runs / "one"
    assert followed(latest) == runs / "one"


def test_a_folder_in_the_way_is_one_error(runs: Path) -> None:
    made(runs / "one")
    (runs / "latest" / "kept").mkdir(parents=True)
    with pytest.raises(RunError, match="cannot point"):
        point_latest(runs / "one")
    assert (runs / "latest" / "kept").is_dir()
    assert sorted(path.name for path in runs.iterdir()) == ["latest", "one"]


def test_of_a_demo_the_parallel_run_is_taken(runs: Path) -> None:
    demo = runs / "demo"
    for paradigm in ("parallel", "sequential"):
        made(demo / paradigm)
    point_latest(demo)
    assert located(runs / "latest") == runs / "latest" / "parallel"
    assert located(demo / "sequential") == demo / "sequential"


def test_no_run_is_one_error_that_names_those_nearby(runs: Path) -> None:
    with pytest.raises(RunError, match="start one with `blockful train`"):
        located(runs / "latest")
    made(runs / "one")
    with pytest.raises(RunError, match=r"it holds .*runs/one; say which with --run"):
        located(runs)
