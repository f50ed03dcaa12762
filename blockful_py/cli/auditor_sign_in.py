# SPDX-License-Identifier: Apache-2.0
"""`blockful auditor sign-in`: signs an auditor in to an explorer, by a link for the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, PassphraseFile
from blockful_py.cli.passphrase import passphrase_from


def sign_in(
    key_file: Annotated[
        Path, typer.Argument(metavar="KEYFILE", help="The auditor's secrets, as `reader keygen` makes them.")
    ],
    url: Annotated[str, typer.Argument(metavar="URL", help="The explorer's address, as the browser has it.")],
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Sign in to an explorer as an auditor: prints a link that the browser opens once, within five minutes.

    The signature counts for this explorer alone. Whoever has the link has the session: give it to nobody.

    Example: blockful auditor sign-in auditor.json http://127.0.0.1:8000/
    """
    from blockful_py.explorer.origin import require_origin
    from blockful_py.explorer.sign_in_link import asked_message, signed_link
    from blockful_py.keys.reader_keys import ReaderKeys

    out, origin = Output(as_json), require_origin(url)
    keys = ReaderKeys.load(key_file, passphrase_from(passphrase_file))
    message = asked_message(origin, keys.account)
    link = signed_link(message, keys.account_secret)
    out.result({"link": link, "account": "0x" + keys.account.hex(), "expires": message.expires})
    out.say(f"open this link within five minutes:\n{link}")
