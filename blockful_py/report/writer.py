# SPDX-License-Identifier: Apache-2.0
"""Writes a report to its run directory, and points `latest` to the newest."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from blockful_py.errors import RunError
from blockful_py.report.html import render_html
from blockful_py.report.schema import Report
from blockful_py.whole_file import write_whole

LATEST = "latest"


@dataclass(frozen=True, slots=True)
class ReportPaths:
    """Files of a report."""

    json: Path
    html: Path


def write_report(report: Report, directory: Path) -> ReportPaths:
    """Write report.html, and report.json last: where it is, the report is whole.

    Raises:
        RunError: if the directory cannot be written.
    """
    paths = ReportPaths(directory / "report.json", directory / "report.html")
    advice = "make room for the report"
    write_whole(paths.html, render_html(report).encode(), parents=True, advice=advice)
    write_whole(paths.json, report.to_bytes(), parents=True, advice=advice)
    return paths


def read_report(directory: Path) -> Report:
    """The report of a run directory, or of the one that its `latest` names.

    Raises:
        RunError: if there is none, or it is of another version.
    """
    path = directory / "report.json"
    try:
        return Report.from_bytes(path.read_bytes())
    except OSError as error:
        raise RunError(
            f"there is no report at {path}: {error.strerror or error}. Give the directory of a finished run."
        ) from error


def point_latest(runs: Path, run: Path) -> Path:
    """Let `runs/latest` name the run, in one step: a relative symbolic link, or a text file without links.

    Raises:
        RunError: if neither can be written, or `latest` is a directory of its own.
    """
    latest, waiting = runs / LATEST, runs / f".{LATEST}.{os.getpid()}"
    target = os.path.relpath(run, runs)
    try:
        waiting.unlink(missing_ok=True)
        try:
            waiting.symlink_to(target, target_is_directory=True)
        except OSError:
            waiting.write_text(target + "\n", encoding="utf-8")
        waiting.replace(latest)
    except OSError as error:
        waiting.unlink(missing_ok=True)
        raise RunError(f"{latest} cannot point to {run}: {error.strerror or error}. Remove it.") from error
    return latest


def latest_run(runs: Path) -> Path:
    """The directory that `runs/latest` names, link or text file.

    Raises:
        RunError: if there is no finished run.
    """
    latest = runs / LATEST
    run = runs / latest.read_text(encoding="utf-8").strip() if latest.is_file() else latest
    if not run.is_dir():
        raise RunError(f"{runs} has no finished run: `blockful demo` makes one.")
    return run.resolve()
