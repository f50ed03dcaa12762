# SPDX-License-Identifier: Apache-2.0
"""Has a member vote for a motion (`blockful committee agree`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, PassphraseFile
from blockful_py.cli.passphrase import passphrase_from

if TYPE_CHECKING:
    from blockful_py.committee.keystore import MemberKeys
    from blockful_py.committee.motions import Motion


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
    """Agree that a member votes for a motion: about readers, auditors, participants or the federation file.

    For a new federation file, the command shows the differences, and refuses a file that the federation
    cannot continue with.  The member may be running.  It votes only for this motion, in the motion's epoch.
    Once the operators of a quorum have agreed, the author of the motion repeats the command that made it.

    Example: blockful committee agree runs/mine/motions/5f0c2a9e81d3b746.json members/1
    """
    from blockful_py.committee.service.agreements import AGREED, Agreements
    from blockful_py.committee.service.folder import keys_in
    from blockful_py.pipeline.coordination.motions import read_motion

    out, parsed = Output(as_json), read_motion(motion)
    keys = keys_in(folder, passphrase_from(passphrase_file, folder))
    agreements, changed = Agreements(folder / AGREED), tuple[str, ...]()
    if withdraw:
        agreements.withdraw(parsed)
    else:
        changed = _changed(folder, keys, parsed)
        agreements.agree(parsed)
    out.result(
        {
            "motion": str(parsed),
            "proposal": "0x" + parsed.proposal.hex(),
            "agreed": not withdraw,
            "changed": list(changed),
        }
    )
    out.say(f"the member in {folder} {'does not agree' if withdraw else 'agrees'} to {parsed}")
    out.say(*(Text(f"  {each}") for each in changed))


def _changed(folder: Path, keys: MemberKeys, motion: Motion) -> tuple[str, ...]:
    """Changes that a motion makes to the federation file, after a review; empty for other motions."""
    from blockful_py.committee.motions import Matter
    from blockful_py.member.endpoints import signer_of
    from blockful_py.member.office import MemberView
    from blockful_py.pipeline.run.entering import RUN

    if motion.matter is not Matter.CHANGE_FILE:
        return ()
    with MemberView.of(folder / RUN, None, signer_of(keys)) as view:
        return tuple(map(str, view.file_changes.review(motion.subject)))
