# SPDX-License-Identifier: Apache-2.0
"""`blockful train`: train and publish what is not on the chain yet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, Overrides, Quiet, SettingsFile, spent


def train(
    settings_file: SettingsFile = None,
    run: Annotated[
        Path, typer.Option("--run", "-r", metavar="DIR", help="Run directory; made if it is not there.")
    ] = Path("runs/mine"),
    overrides: Overrides = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1000,
            metavar="N",
            help="Go on until each user has N models (scenario organic); as many as in the settings if "
            "left out.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train the users' models on each other's, and publish them wave by wave.

    Interrupted, it goes on where it was when it is run again.  After requests to forget, --rounds goes on
    with more models; owners who asked train without what they asked to be forgotten.

    Example: blockful train examples/paper14.toml --run runs/mine
    """
    from blockful_py.errors import RunError
    from blockful_py.settings import Settings

    settings: Settings | None = None
    if (run / "run.json").exists():
        if settings_file or overrides:
            raise RunError(f"{run} has settings of its own: leave SETTINGS and --set out to go on with it.")
    else:
        planned = [] if rounds is None else [f"federation.rounds={rounds}"]
        settings = Settings.load(settings_file, [*(overrides or ()), *planned])
    from blockful_py.cli.devnet import with_running_devnets
    from blockful_py.pipeline.federation import Federation

    out = Output(as_json, quiet)
    opened = Federation.create(with_running_devnets(settings), run) if settings else Federation.open(run)
    with opened as federation:
        federation.train(out, rounds)
        models = federation.catalogue().models
        opted_out = federation.opted_out()
    out.result(
        {
            "run": str(run),
            "opted_out": {user: list(map(str, forgets)) for user, forgets in opted_out.items()},
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
        out.say(f"{name:5} at {placed.position!s:6} accuracy on its owner's test data {share:5.1f} %{noisy}")
    for user, forgets in opted_out.items():
        out.say(f"user {user} asked to forget {'; '.join(map(str, forgets))}: nothing is trained on it again")
