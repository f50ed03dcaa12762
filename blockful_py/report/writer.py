# SPDX-License-Identifier: Apache-2.0
"""Writes a report to its run directory, and reads it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from blockful_py.errors import RunError
from blockful_py.report.html import render_html
from blockful_py.report.plots import DARK, LIGHT, draw_all
from blockful_py.report.schema import Report
from blockful_py.whole_file import write_whole


@dataclass(frozen=True, slots=True)
class ReportPaths:
    """Files of a report; `plots` by name as `draw_all` gives them."""

    json: Path
    html: Path
    plots: dict[str, Path]


def write_report(report: Report, directory: Path) -> ReportPaths:
    """Write report.html, the PNG plots, and report.json last: where it is, the report is whole.

    Raises:
        RunError: if the directory cannot be written.
    """
    light, dark = draw_all(report, LIGHT), draw_all(report, DARK)
    paths = ReportPaths(
        directory / "report.json",
        directory / "report.html",
        {name: directory / f"{name}.png" for name in light},
    )
    files = {path: light[name] for name, path in paths.plots.items()}
    files[paths.html] = render_html(report, light, dark).encode()
    files[paths.json] = report.to_bytes()
    advice = "make room for the report"
    for path, content in files.items():
        write_whole(path, content, parents=True, advice=advice)
    return paths


def read_report(directory: Path) -> Report:
    """The report of a run directory.

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
