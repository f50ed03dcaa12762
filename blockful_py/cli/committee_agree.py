# SPDX-License-Identifier: Apache-2.0
"""`blockful committee agree`: have a member vote for a motion."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, PassphraseFile
from blockful_py.cli.passphrase import passphrase_from


def agree(
    motion: Annotated[
        Path, typer.Argument(metavar="MOTION", help="The motion, a file in the run directory.")
    ],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The member's folder.")],
    withdraw: Annotated[
        bool, typer.Option("--withdraw", help="Withdraw the agreement. A vote that was cast stays valid.")
    ] = False,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Agree that a member votes for a motion to bar or readmit a reader, or to add or remove an auditor.

    The member may be running. It votes for this motion only, in the motion's epoch. Once the operators of a
    quorum have agreed, the author of the motion repeats the command that made it.

    Example: blockful committee agree runs/mine/motions/5f0c2a9e81d3b746.json members/1
    """
    from blockful_py.committee.service.agreements import AGREED, Agreements
    from blockful_py.committee.service.folder import keys_in
    from blockful_py.pipeline.coordination.motions import read_motion

    out, parsed = Output(as_json), read_motion(motion)
    keys_in(folder, passphrase_from(passphrase_file))
    agreements = Agreements(folder / AGREED)
    if withdraw:
        agreements.withdraw(parsed.proposal)
    else:
        agreements.agree(parsed.proposal)
    out.result({"motion": str(parsed), "proposal": "0x" + parsed.proposal.hex(), "agreed": not withdraw})
    out.say(f"the member in {folder} {'does not agree' if withdraw else 'agrees'} to {parsed}")
