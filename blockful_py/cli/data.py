# SPDX-License-Identifier: Apache-2.0
"""Shows how the data set is divided among users, or lists data sets (`blockful data`)."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, Overrides, SettingsFile


def data(
    settings_file: SettingsFile = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", "-p", metavar="FILE", help="Also draw the table into this PNG file."),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save", metavar="DIR", help="Also write each user's samples, as participants take them."
        ),
    ] = None,
    list_sets: Annotated[
        bool,
        typer.Option("--list", help="Only list the data sets: where to get each, and its location if found."),
    ] = False,
    overrides: Overrides = None,
    as_json: AsJson = False,
) -> None:
    """Load the data, divide it among users, and show each user's training samples by class, and duplicates.

    Example: blockful data examples/paper14.toml --set federation.situation=dirichlet
    """
    if list_sets:
        _list_sources(Output(as_json))
        return
    from blockful_py.settings import Settings

    settings = Settings.load(settings_file, overrides or ())
    from blockful_py.learning.copies import copies_in
    from blockful_py.learning.training_setup import TrainingSetup
    from blockful_py.report.plots.holdings import draw_holdings
    from blockful_py.report.runs.holdings import holdings
    from blockful_py.whole_file import write_whole

    out = Output(as_json)
    with out.stage("load the data and divide it", None):
        setup = TrainingSetup.of(settings)
        table, copies = holdings(settings, setup), copies_in(setup.users, setup.dataset.test)
    if plot is not None:
        write_whole(plot, draw_holdings(table))
    out.result(
        {
            "title": table.title,
            "forget": list(table.forget),
            "users": {str(user): list(row) for user, row in enumerate(table.counts, start=1)},
            "copies": asdict(copies),
        }
    )
    out.say(table.title)
    for user, row in enumerate(table.counts, start=1):
        held = [f"{label}:{count}" for label, count in enumerate(row) if count]
        shown = " ".join(held) if len(held) <= 20 else f"{len(held)} classes"
        out.say(f"user {user:<4} {sum(row):6,} samples  {shown}")
    if said := copies.said():
        out.say(said)
    if plot is not None:
        out.say(f"drawn in {plot}")
    if save is not None:
        from blockful_py.pipeline.run.training_data import save_users

        for path in save_users(settings, save):
            out.say(f"samples in {path}")


def _list_sources(out: Output) -> None:
    from blockful_py.learning.datasets.sources import sources

    listed = tuple(sources())
    out.result({each.name: {"get": each.get, "found": each.found} for each in listed})
    for each in listed:
        out.say(f"{each.name:<20} {'not found' if each.found is None else f'found: {each.found}'}")
        if each.found is None:
            out.say(f"{'':<20} {each.get}")
