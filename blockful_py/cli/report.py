# SPDX-License-Identifier: Apache-2.0
"""Prints the report of a run, and renders it again (`blockful report`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import LATEST, AsJson
from blockful_py.terminal import PlainConsole

if TYPE_CHECKING:
    from blockful_py.report.schema import Report


def show_report(out: Output, report: Report, directory: Path | None) -> None:
    """Prints the tables of a report, except in JSON mode.

    With `directory`, also says where the report's files are.
    """
    if out.as_json:
        return
    from blockful_py.report.table import print_report

    print_report(report, PlainConsole(), directory)


def report(
    run: Annotated[
        Path,
        typer.Option("--run", "-r", metavar="DIR", help="The folder of a finished run, or of a demo."),
    ] = LATEST,
    as_json: AsJson = False,
) -> None:
    """Print the report of a finished run, and render its page again from report.json.

    Example: blockful report --run runs/latest
    """
    from blockful_py.pipeline.run.finding import followed
    from blockful_py.report.schema import read_report

    folder = followed(run)
    report = read_report(folder)
    from blockful_py.report.html import write_report

    write_report(report, folder)
    out = Output(as_json)
    out.result(report.to_json())
    show_report(out, report, folder)
