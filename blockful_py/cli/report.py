# SPDX-License-Identifier: Apache-2.0
"""`blockful report`: renders the report of a run again."""

from __future__ import annotations

from rich.console import Console

from blockful_py.cli.console import Output
from blockful_py.cli.options import LATEST, AsJson, Run


def report(run: Run = LATEST, as_json: AsJson = False) -> None:
    """Print the report of a finished run, and render its page again from report.json.

    Example: blockful report --run runs/latest
    """
    from blockful_py.report.table import print_report
    from blockful_py.report.writer import read_report, write_report

    report = read_report(run)
    paths = write_report(report, run)
    if as_json:
        Output(as_json).result(report.to_json())
    else:
        print_report(report, Console(highlight=False), paths.html.parent)
