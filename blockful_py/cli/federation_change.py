# SPDX-License-Identifier: Apache-2.0
"""`blockful federation change`: has the committee change the federation file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, PassphraseFile
from blockful_py.cli.passphrase import passphrase_from


def change(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The new federation file.")],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the member that leads.")],
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Have the committee put another federation file on the chain.

    The file goes to the members, who vote once their operators have agreed. The command says how to agree,
    and is repeated then. Everybody fetches the new file from the members by itself.

    Example: blockful federation change federation.toml members/1
    """
    from blockful_py.cli.parties import led_by_member
    from blockful_py.committee.service.folder import keys_in
    from blockful_py.record.federation_file import read_federation_file, uri_of

    out, data = Output(as_json), read_federation_file(file)
    keys = keys_in(folder, passphrase_from(passphrase_file, folder))
    with led_by_member(folder, keys) as federation:
        changed = federation.administration().change_file(data)
    digest = "0x" + uri_of(data).digest.hex()
    out.result({"digest": digest, "changed": [str(each) for each in changed]})
    out.say(f"the federation file is {digest} on the chain", *(Text(f"  {each}") for each in changed))
