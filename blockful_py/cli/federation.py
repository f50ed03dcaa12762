# SPDX-License-Identifier: Apache-2.0
"""Makes a federation of machines, and changes its file (`blockful federation`)."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from blockful_py.cli.console import Output
from blockful_py.cli.options import ArchiveUrl, AsJson, LiveUrl, Overrides, PassphraseFile, SettingsFile
from blockful_py.cli.parties import founder, led_by_member, member_keys, nodes_of, require_funds
from blockful_py.cli.passphrase import passphrase_from
from blockful_py.errors import RunError


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


def found(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The founder's folder.")],
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Elect the first committee, deploy the archive chain's contracts and put the file's digest on chain.

    Repeat an interrupted command to continue.  Participants need the file that the command prints; members
    fetch it automatically.

    Example: blockful federation found fed
    """
    from blockful_py.participant.folder import ParticipantFolder

    party = ParticipantFolder(folder)
    if not (party.run / "run.json").exists():
        raise RunError(
            f"no federation was created in {folder}: first run "
            f"`blockful federation create {shlex.quote(str(folder))} SETTINGS`."
        )
    from blockful_py.chain.signer import Signer
    from blockful_py.pipeline.founding import found
    from blockful_py.pipeline.run.directory import RunDirectory
    from blockful_py.pipeline.run.entering import FILE, RUN
    from blockful_py.pipeline.run.nodes import Nodes
    from blockful_py.record.federation_file import uri_of

    out = Output(as_json)
    keys = party.keys(passphrase_from(passphrase_file, folder))
    account = Signer(keys.account_secret.to_bytes(32, "big"))
    with Nodes(RunDirectory.open(folder / RUN).place, account) as nodes:
        epoch = found(folder / RUN, nodes, keys.account_secret, None, out.say)
    file = folder / RUN / FILE
    digest = uri_of(file.read_bytes()).digest
    out.result({"file": str(file), "digest": "0x" + digest.hex(), "epoch": epoch})
    out.say(f"federation file {file}, 0x{digest.hex()} on the chain: give it to the participants")


def change(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The new federation file.")],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the leading member.")],
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Have the committee put another federation file on the chain.

    The members receive the file and vote once their operators have agreed.  The command says how to agree;
    repeat it afterwards.  All parties fetch the new file from the members automatically.

    Example: blockful federation change federation.toml members/1
    """
    from blockful_py.record.federation_file import read_federation_file, uri_of

    out, data = Output(as_json), read_federation_file(file)
    with led_by_member(folder, member_keys(folder, passphrase_file)) as federation:
        changed = federation.administration().change_file(data)
    digest = "0x" + uri_of(data).digest.hex()
    out.result({"digest": digest, "changed": [str(each) for each in changed]})
    out.say(f"the federation file on the chain is now {digest}", *(Text(f"  {each}") for each in changed))
