# SPDX-License-Identifier: Apache-2.0
"""Makes and lists the users' Ethereum accounts (`blockful account`)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, PassphraseFile
from blockful_py.cli.passphrase import passphrase_from
from blockful_py.errors import KeystoreError

if TYPE_CHECKING:
    from blockful_py.pipeline.run.accounts import AccountFolder

Folder = Annotated[
    Path,
    typer.Option("--folder", metavar="DIR", help="Folder of the keystores (setting federation.accounts)."),
]
FOLDER = Path("accounts")


def create(
    users: Annotated[int, typer.Option(min=1, max=10_000, help="Make accounts for users 1 to this number.")],
    folder: Folder = FOLDER,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Make accounts for users who have none, all under one passphrase, in files such as user-1.json.

    A keystore from geth or another wallet may replace any of these files.

    Example: blockful account create --users 14 --passphrase-file words
    """
    from blockful_py.chain.account_file import create as create_account
    from blockful_py.pipeline.run.accounts import AccountFolder

    out, accounts = Output(as_json), AccountFolder(folder)
    missing = [user for user in range(1, users + 1) if not accounts.path(user).exists()]
    words = passphrase_from(passphrase_file, repeat=True) if missing else ""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise KeystoreError(f"{folder} cannot be made: {error.strerror}.") from None
    with out.stage("make accounts", len(missing)) as advance:
        for user in missing:
            create_account(accounts.path(user), words)
            advance(1)
    _show(out, accounts, range(1, users + 1))


def list_(folder: Folder = FOLDER, as_json: AsJson = False) -> None:
    """Show the addresses of all users who have an account.

    Example: blockful account list --folder accounts --json
    """
    from blockful_py.pipeline.run.accounts import AccountFolder

    accounts = AccountFolder(folder)
    _show(Output(as_json), accounts, accounts.users())


def _show(out: Output, accounts: AccountFolder, users: Iterable[int]) -> None:
    addresses = {user: "0x" + accounts.address(user).hex() for user in users}
    out.result([{"user": user, "address": address} for user, address in addresses.items()])
    for user, address in addresses.items():
        out.say(f"user {user}: {address}")
