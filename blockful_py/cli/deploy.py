# SPDX-License-Identifier: Apache-2.0
"""Deploys the contracts and makes a run directory (`blockful deploy`)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.devnet import with_running_devnets
from blockful_py.cli.options import AsJson, Overrides, Quiet, SettingsFile


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
