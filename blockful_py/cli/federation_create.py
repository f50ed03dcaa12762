# SPDX-License-Identifier: Apache-2.0
"""Makes a federation of machines (`blockful federation create`)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import ArchiveUrl, AsJson, LiveUrl, Overrides, PassphraseFile, SettingsFile
from blockful_py.cli.parties import founder, nodes_of, require_funds
from blockful_py.cli.passphrase import passphrase_from


def create(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The founder's folder, to be made.")],
    settings_file: SettingsFile = None,
    name: Annotated[str, typer.Option(help="Display name of the federation.")] = "a federation",
    live_url: LiveUrl = None,
    archive_url: ArchiveUrl = None,
    overrides: Overrides = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Deploy the contracts of a federation of machines and write its incomplete federation file.

    Send FOLDER/federation.toml to the future members, who serve and join with it.  Once enough have joined,
    `blockful federation found` elects them and completes the file.  The founder's account pays.

    Example: blockful federation create fed examples/machines.toml --live-url URL --archive-url URL
    """
    from blockful_py.settings import Settings

    settings = Settings.load(settings_file, overrides or ())
    from blockful_py.pipeline.founding import create
    from blockful_py.pipeline.run.entering import FILE, RUN

    out, words = Output(as_json), passphrase_from(passphrase_file)
    keys = founder(folder, words)
    with nodes_of(settings.chain, live_url, archive_url, keys.account_secret) as nodes:
        require_funds(nodes, keys.account)
        with out.stage("deploy the contracts", None):
            create(name, settings, folder / RUN, nodes)
    file = folder / RUN / FILE
    out.result({"file": str(file), "founder": "0x" + keys.account.hex()})
    out.say(f"founder 0x{keys.account.hex()}")
    out.say(f"federation file {file}: give it to the members, then found the federation:")
    out.command("blockful", "federation", "found", folder)
