# SPDX-License-Identifier: Apache-2.0
"""Runs the whole loop on two local chains (`blockful demo`)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, Overrides, Quiet, SettingsFile, new_run
from blockful_py.cli.report import show_report

DEFAULTS = ("chain.packaging_interval=0",)


def demo(
    settings_file: SettingsFile = None,
    overrides: Overrides = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="A new folder for the run.", show_default=False),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train, publish, forget in both paradigms, verify, and write a report.

    Without SETTINGS, the command runs the paper's experiment: 14 users, two of whom (5 and 7) ask to forget.

    Example: blockful demo examples/paper14.toml --set federation.situation=all_hold
    """
    from blockful_py.settings import Settings

    chosen = tuple(overrides or ())
    settings = Settings.load(settings_file, chosen if settings_file else (*DEFAULTS, *chosen))
    from blockful_py.report.runs.demo import run_demo

    directory = output or new_run()
    out = Output(as_json, quiet)
    report = run_demo(settings, directory, out)
    out.result(report.to_json())
    show_report(out, report, directory)
    out.say("\nlook around in the browser:")
    out.command("blockful", "explorer", "--run", directory / "parallel")
    if report.verification.failed:
        raise typer.Exit(3)
