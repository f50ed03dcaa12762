# SPDX-License-Identifier: Apache-2.0
"""Has the first committee elected, and completes the federation file (`blockful federation found`)."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, PassphraseFile
from blockful_py.cli.passphrase import passphrase_from
from blockful_py.errors import RunError


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
        rotated = found(folder / RUN, nodes, keys.account_secret, None, out.say)
    file = folder / RUN / FILE
    digest = uri_of(file.read_bytes()).digest
    out.result({"file": str(file), "digest": "0x" + digest.hex(), "epoch": rotated.epoch})
    out.say(f"federation file {file}, 0x{digest.hex()} on the chain: give it to the participants")
