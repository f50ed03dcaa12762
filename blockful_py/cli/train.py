# SPDX-License-Identifier: Apache-2.0
"""Deploys the contracts of a run; trains and publishes its models (`blockful deploy`, `train`)."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.devnet import with_running_devnets
from blockful_py.cli.options import AsJson, Overrides, Quiet, SettingsFile, spent
from blockful_py.errors import RunError


def deploy(
    settings_file: SettingsFile = None,
    run: Annotated[
        Path, typer.Option("--run", "-r", metavar="DIR", help="The run directory to make.")
    ] = Path("runs/mine"),
    overrides: Overrides = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Deploy the contracts and make a run directory.

    The archive chain of an elected committee is deployed at its first epoch (`blockful committee rotate`).
    The command uses chain.live_url and chain.archive_url if they are set, otherwise the devnets of `blockful
    devnet up` if they run.  Otherwise it starts its own devnets in the run directory.

    Example: blockful deploy examples/paper14.toml --run runs/mine
    """
    from blockful_py.settings import Settings

    chosen = Settings.load(settings_file, overrides or ())
    from blockful_py.pipeline.federation import Federation
    from blockful_py.pipeline.run.finding import point_latest

    out = Output(as_json, quiet)
    settings = with_running_devnets(chosen)
    with out.stage("deploy the contracts", None), Federation.create(settings, run) as federation:
        point_latest(run)
        contracts = federation.contracts
        followers = contracts.followers
        late = (followers.mirror, followers.archive) if followers else ()
        places = {
            contract.NAME: {"chain": contract.chain_id, "address": "0x" + contract.address.hex()}
            for contract in (contracts.committee, contracts.live, *late)
        }
    out.result({"run": str(run), "contracts": places})
    for name, place in places.items():
        out.say(f"{name:16} {place['address']} on chain {place['chain']}")
    out.say(f"run directory: {run}")
    if not late:
        out.say(
            "next: members join (`blockful committee join`), then `blockful committee rotate` elects them"
        )


def train(
    settings_file: SettingsFile = None,
    run: Annotated[
        Path, typer.Option("--run", "-r", metavar="DIR", help="The run directory. Makes it if it is missing.")
    ] = Path("runs/mine"),
    overrides: Overrides = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1000,
            metavar="N",
            help="Train until each user has N models (scenario organic). Default: from the settings.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train the users' models from one another's models, and publish them wave by wave.

    If the command is interrupted, run it again to continue.  After requests to forget, --rounds trains
    further models; their owners then leave out the data that they asked to forget.

    Example: blockful train examples/paper14.toml --run runs/mine
    """
    from blockful_py.settings import Settings

    settings: Settings | None = None
    if (run / "run.json").exists():
        if settings_file or overrides:
            raise RunError(
                f"{run} has settings of its own: omit SETTINGS and --set to continue it, or choose "
                "another directory with --run."
            )
    else:
        planned = [] if rounds is None else [f"federation.rounds={rounds}"]
        settings = Settings.load(settings_file, [*(overrides or ()), *planned])
    from blockful_py.learning.copies import copies_in
    from blockful_py.pipeline.federation import Federation
    from blockful_py.pipeline.resume import jobs_of
    from blockful_py.pipeline.run.finding import point_latest
    from blockful_py.report.assets import page_assets

    out = Output(as_json, quiet)
    try:
        page_assets()
    except RunError as error:
        out.problem("warning: requests will have no report.html", str(error))
    opened = Federation.create(with_running_devnets(settings), run) if settings else Federation.open(run)
    with opened as federation:
        if settings:
            point_latest(run)
        federation.train(out, rounds)
        models = federation.catalogue().models
        opted_out = federation.opted_out()
        excluded = jobs_of(federation.run)[-1].excluded
        copies = copies_in(federation.setup.users, federation.setup.dataset.test)
        untested = federation.setup.untested
    out.result(
        {
            "run": str(run),
            "excluded": list(excluded),
            "copies": asdict(copies),
            "untested": list(untested),
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
    if said := copies.said():
        out.say(said)
    if untested:
        named = ", ".join(map(str, untested))
        out.say(f"no test sample of class {named}: requests for it are executed without AD_f")
    for user, forgets in opted_out.items():
        what = "; ".join(map(str, forgets))
        out.say(f"user {user} asked to forget {what}: no model is trained on that data again")
    for each in excluded:
        out.say(f"excluded from decisions: {each}")
