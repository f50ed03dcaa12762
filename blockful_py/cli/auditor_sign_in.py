# SPDX-License-Identifier: Apache-2.0
"""Signs an auditor in to an explorer with a link for the browser (`blockful auditor sign-in`)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, PassphraseFile
from blockful_py.cli.passphrase import passphrase_from
from blockful_py.explorer.sign_in_message import require_origin


def sign_in(
    key_file: Annotated[
        Path, typer.Argument(metavar="KEYFILE", help="The auditor's secrets, as `reader keygen` makes them.")
    ],
    url: Annotated[str, typer.Argument(metavar="URL", help="The explorer's address in the browser.")],
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Sign in to an explorer as an auditor: prints a link that works once in a browser, within five minutes.

    The signature is valid for this explorer only.  Anybody with the link can use the session: keep it secret.

    Example: blockful auditor sign-in auditor.json http://127.0.0.1:8000/
    """
    from blockful_py.explorer.sign_in_link import asked_message, signed_link
    from blockful_py.keys.reader_keys import ReaderKeys

    out, origin = Output(as_json), require_origin(url)
    keys = ReaderKeys.load(key_file, passphrase_from(passphrase_file))
    message = asked_message(origin, keys.account)
    link = signed_link(message, keys.account_secret)
    out.result({"link": link, "account": "0x" + keys.account.hex(), "expires": message.expires})
    out.say(f"open this link within five minutes:\n{link}")
