# SPDX-License-Identifier: Apache-2.0
"""Prints a report, for commands that make one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from blockful_py.cli.console import Output
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
