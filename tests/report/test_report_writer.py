# SPDX-License-Identifier: Apache-2.0
"""A run directory is whole or has no report.json; `latest` always names one run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from blockful_py.errors import RunError
from blockful_py.report.schema import Report
from blockful_py.report.writer import latest_run, point_latest, read_report, write_report
from tests.report.made_up import report_of


@pytest.fixture(scope="module")
def small() -> Report:
    return report_of({"a": (), "b": ("a",)}, ("a",))


@pytest.fixture(scope="module")
def run(small: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the report was written once."""
    return write_report(small, tmp_path_factory.mktemp("report") / "runs" / "one").json.parent


def test_what_is_written_reads_back_and_is_repeatable(small: Report, run: Path, tmp_path: Path) -> None:
    assert read_report(run) == small
    files = {path.name: path.read_bytes() for path in run.iterdir()}
    assert set(files) == {"report.json", "report.html"}
    write_report(small, tmp_path)
    assert files == {path.name: path.read_bytes() for path in tmp_path.iterdir()}


def test_a_report_is_replaced_by_a_later_one(run: Path, tmp_path: Path) -> None:
    later = report_of({"c": ()}, ("c",))
    shutil.copytree(run, tmp_path, dirs_exist_ok=True)
    write_report(later, tmp_path)
    assert read_report(tmp_path) == later
    assert len(list(tmp_path.iterdir())) == 2


def test_a_directory_that_cannot_be_written_is_one_error(small: Report, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be written"):
        write_report(small, tmp_path / "file" / "run")
    (tmp_path / "run" / "report.html").mkdir(parents=True)
    with pytest.raises(RunError, match="cannot be written"):
        write_report(small, tmp_path / "run")
    assert not (tmp_path / "run" / "report.json").exists()


def test_no_report_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="finished run"):
        read_report(tmp_path)


def test_latest_follows_the_newest_run_and_survives_a_move(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    for name in ("one", "two"):
        (runs / name).mkdir(parents=True)
        latest = point_latest(runs, runs / name)
        assert latest == runs / "latest"
        assert latest_run(runs) == (runs / name).resolve()
    assert sorted(path.name for path in runs.iterdir()) == ["latest", "one", "two"]
    runs.rename(tmp_path / "moved")
    assert latest_run(tmp_path / "moved").name == "two"


def test_latest_is_a_text_file_where_links_are_not_possible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no symbolic links here")

    (tmp_path / "one").mkdir()
    monkeypatch.setattr(Path, "symlink_to", refuse)
    assert point_latest(tmp_path, tmp_path / "one").read_text() == "one\n"
    assert latest_run(tmp_path) == (tmp_path / "one").resolve()


def test_latest_without_a_run_or_in_the_way_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no finished run"):
        latest_run(tmp_path)
    (tmp_path / "latest" / "kept").mkdir(parents=True)
    with pytest.raises(RunError, match="cannot point"):
        point_latest(tmp_path, tmp_path / "one")
    assert (tmp_path / "latest" / "kept").is_dir()
    assert [path.name for path in tmp_path.iterdir()] == ["latest"]
