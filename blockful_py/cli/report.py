# SPDX-License-Identifier: Apache-2.0
"""`blockful report`: renders the report of a run again."""

from __future__ import annotations

from blockful_py.cli.console import Output
from blockful_py.cli.options import LATEST, AsJson, Run
from blockful_py.cli.report_shown import show_report


def report(run: Run = LATEST, as_json: AsJson = False) -> None:
    """Print the report of a finished run, and render its page and plots again from report.json.

    Example: blockful report --run runs/latest
    """
    from blockful_py.report.writer import read_report, write_report

    report = read_report(run)
    paths = write_report(report, run)
    out = Output(as_json)
    out.result(report.to_json())
    show_report(out, report, paths.html.parent)
