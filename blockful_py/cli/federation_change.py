# SPDX-License-Identifier: Apache-2.0
"""Has the committee change the federation file (`blockful federation change`)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, PassphraseFile
from blockful_py.cli.parties import led_by_member
from blockful_py.cli.passphrase import passphrase_from


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
    from blockful_py.committee.service.folder import keys_in
    from blockful_py.record.federation_file import read_federation_file, uri_of

    out, data = Output(as_json), read_federation_file(file)
    keys = keys_in(folder, passphrase_from(passphrase_file, folder))
    with led_by_member(folder, keys) as federation:
        changed = federation.administration().change_file(data)
    digest = "0x" + uri_of(data).digest.hex()
    out.result({"digest": digest, "changed": [str(each) for each in changed]})
    out.say(f"the federation file on the chain is now {digest}", *(Text(f"  {each}") for each in changed))
