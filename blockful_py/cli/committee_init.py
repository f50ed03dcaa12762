# SPDX-License-Identifier: Apache-2.0
"""Makes a committee member (`blockful committee init`)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, PassphraseFile
from blockful_py.cli.passphrase import passphrase_from


def init(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder to make for the member.")],
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Make a member: a folder with fresh keys under a passphrase, and empty state.

    Prints the member's voting address and the account that pays for its transactions.  Fund this account if
    the committee is elected.  The passphrase comes from a file, from $BLOCKFUL_PASSPHRASE, or from a prompt.

    Example: blockful committee init members/1
    """
    from blockful_py.committee.service.folder import MemberFolder

    out = Output(as_json)
    member = MemberFolder.create(folder, passphrase_from(passphrase_file, repeat=True))
    member.close()
    address, account = "0x" + member.address.hex(), "0x" + member.keys.account.hex()
    out.result({"folder": str(folder), "address": address, "account": account})
    out.say(f"member {address} in {folder}", f"its account is {account}")
