# SPDX-License-Identifier: Apache-2.0
"""`blockful train`: train and publish what is not on the chain yet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, Overrides, Quiet, SettingsFile, example, spent


def register(app: typer.Typer) -> None:
    @app.command(epilog=example("blockful train examples/paper14.toml --run runs/mine"))
    def train(
        settings_file: SettingsFile = None,
        run: Annotated[
            Path, typer.Option("--run", "-r", metavar="DIR", help="Run directory; made if it is not there.")
        ] = Path("runs/mine"),
        overrides: Overrides = None,
        as_json: AsJson = False,
        quiet: Quiet = False,
    ) -> None:
        """Train the users' models on each other's, and publish them wave by wave.

        Interrupted, it goes on where it was when it is run again.
        """
        from blockful_py.cli.devnet import with_running_devnets
        from blockful_py.errors import RunError
        from blockful_py.pipeline.federation import Federation
        from blockful_py.pipeline.settings import Settings

        out = Output(as_json, quiet)
        if (run / "run.json").exists():
            if settings_file or overrides:
                raise RunError(
                    f"{run} has settings of its own: leave SETTINGS and --set out to go on with it."
                )
            opened = Federation.open(run)
        else:
            opened = Federation.create(
                with_running_devnets(Settings.load(settings_file, overrides or ())), run
            )
        with opened as federation:
            federation.train(out)
            models = federation.catalogue().models
        out.result(
            {
                "run": str(run),
                "models": {
                    name: {
                        "position": str(placed.position),
                        "version": placed.version,
                        "accuracy": placed.node.statement.accuracy,
                        "privacy": spent(placed),
                    }
                    for name, placed in models.items()
                },
            }
        )
        for name, placed in models.items():
            share = 100 * placed.node.statement.accuracy
            privacy = placed.node.statement.privacy
            noisy = f", {privacy}" if privacy else ""
            out.say(
                f"{name:5} at {placed.position!s:6} accuracy on its owner's test data {share:5.1f} %{noisy}"
            )
