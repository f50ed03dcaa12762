# SPDX-License-Identifier: Apache-2.0
"""A run directory is whole or has no report.json; `latest` always names one run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from blockful_py.errors import RunError
from blockful_py.report.html import write_report
from blockful_py.report.schema import Report, read_report
from tests.report.made_up import report_of


@pytest.fixture(scope="module")
def small() -> Report:
    return report_of({"a": (), "b": ("a",)}, ("a",))


@pytest.fixture(scope="module")
def run(small: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the report was written once."""
    return write_report(small, tmp_path_factory.mktemp("report") / "runs" / "one").parent


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
    with pytest.raises(RunError, match="there is no run"):
        read_report(tmp_path)
    (tmp_path / "run.json").touch()
    with pytest.raises(RunError, match="has no report yet"):
        read_report(tmp_path)
