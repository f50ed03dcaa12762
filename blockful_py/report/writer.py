# SPDX-License-Identifier: Apache-2.0
"""Writes a report to its run directory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from blockful_py.report.html import render_html
from blockful_py.report.schema import Report
from blockful_py.whole_file import write_whole


@dataclass(frozen=True, slots=True)
class ReportPaths:
    """Files of a report."""

    json: Path
    html: Path


def write_report(report: Report, directory: Path) -> ReportPaths:
    """Writes report.html, then report.json: if the latter exists, the report is complete.

    Raises RunError if the directory cannot be written.
    """
    paths = ReportPaths(directory / "report.json", directory / "report.html")
    advice = "make room for the report"
    write_whole(paths.html, render_html(report).encode(), parents=True, advice=advice)
    write_whole(paths.json, report.to_bytes(), parents=True, advice=advice)
    return paths
