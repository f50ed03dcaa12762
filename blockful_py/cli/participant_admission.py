# SPDX-License-Identifier: Apache-2.0
"""Has the committee decide on participants (`blockful participant admit`, `bar`, `readmit`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import Account, AsJson, PassphraseFile, address
from blockful_py.cli.parties import led_by_member
from blockful_py.cli.passphrase import passphrase_from
from blockful_py.types import Address

if TYPE_CHECKING:
    from blockful_py.pipeline.administration import Administration

Led = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the leading member.")]


def admit(
    account: Account, folder: Led, passphrase_file: PassphraseFile = None, as_json: AsJson = False
) -> None:
    """Have the committee let an account join, if access.participants is "admitted".

    Members vote after their operators have agreed.  The command says how to agree.

    Example: blockful participant admit 0x1234567890123456789012345678901234567890 members/1
    """

    def decide(by: Administration, who: Address) -> None:
        by.admit_participant(who)

    _decide(account, folder, passphrase_file, as_json, "admitted", decide)


def bar(
    account: Account, folder: Led, passphrase_file: PassphraseFile = None, as_json: AsJson = False
) -> None:
    """Have the committee bar a participant, which then publishes nothing more. Members vote as on admission.

    Example: blockful participant bar 0x1234567890123456789012345678901234567890 members/1
    """

    def decide(by: Administration, who: Address) -> None:
        by.set_participant_barred(who, True)

    _decide(account, folder, passphrase_file, as_json, "barred", decide)


def readmit(
    account: Account, folder: Led, passphrase_file: PassphraseFile = None, as_json: AsJson = False
) -> None:
    """Have the committee let a barred participant join again. Members vote as on admission.

    Example: blockful participant readmit 0x1234567890123456789012345678901234567890 members/1
    """

    def decide(by: Administration, who: Address) -> None:
        by.set_participant_barred(who, False)

    _decide(account, folder, passphrase_file, as_json, "readmitted", decide)


def _decide(
    text: str,
    folder: Path,
    passphrase_file: Path | None,
    as_json: bool,
    done: str,
    decide: Callable[[Administration, bytes], None],
) -> None:
    from blockful_py.committee.service.folder import keys_in

    out, account = Output(as_json), address(text)
    keys = keys_in(folder, passphrase_from(passphrase_file, folder))
    with led_by_member(folder, keys) as federation:
        decide(federation.administration(), account)
    out.result({"account": "0x" + account.hex(), "decision": done})
    out.say(f"0x{account.hex()} is {done}")
