# SPDX-License-Identifier: Apache-2.0
"""Has the committee decide on participants (`blockful participant admit`, `bar`, `readmit`)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import Account, AsJson, PassphraseFile, address
from blockful_py.cli.parties import led_by_member, member_keys

Led = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the leading member.")]


def admit(
    account: Account, folder: Led, passphrase_file: PassphraseFile = None, as_json: AsJson = False
) -> None:
    """Have the committee let an account join, if access.participants is "admitted".

    Members vote after their operators have agreed.  The command says how to agree.

    Example: blockful participant admit 0x1234567890123456789012345678901234567890 members/1
    """
    _decide(account, folder, passphrase_file, as_json, None)


def bar(
    account: Account, folder: Led, passphrase_file: PassphraseFile = None, as_json: AsJson = False
) -> None:
    """Have the committee bar a participant, which then publishes nothing more. Members vote as on admission.

    Example: blockful participant bar 0x1234567890123456789012345678901234567890 members/1
    """
    _decide(account, folder, passphrase_file, as_json, True)


def readmit(
    account: Account, folder: Led, passphrase_file: PassphraseFile = None, as_json: AsJson = False
) -> None:
    """Have the committee let a barred participant join again. Members vote as on admission.

    Example: blockful participant readmit 0x1234567890123456789012345678901234567890 members/1
    """
    _decide(account, folder, passphrase_file, as_json, False)


def _decide(
    text: str, folder: Path, passphrase_file: Path | None, as_json: bool, barred: bool | None
) -> None:
    """Has an account admitted if `barred` is None, otherwise barred or readmitted."""
    out, account = Output(as_json), address(text)
    with led_by_member(folder, member_keys(folder, passphrase_file)) as federation:
        if barred is None:
            federation.administration().admit_participant(account)
        else:
            federation.administration().set_participant_barred(account, barred)
    done = {None: "admitted", True: "barred", False: "readmitted"}[barred]
    out.result({"account": "0x" + account.hex(), "decision": done})
    out.say(f"0x{account.hex()} is {done}")
