# SPDX-License-Identifier: Apache-2.0
"""Starts epochs and gives members gas money (`blockful committee keygen`, `rotate`, `fund`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, MemberOption, OptionalRun, PassphraseFile, Quiet, Run, located_run
from blockful_py.cli.parties import opened

if TYPE_CHECKING:
    from blockful_py.pipeline.coordination.rotation import Rotated


def keygen(run: Run, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Have the members generate a new group key, appoint them, and update the archive chain.

    The command leaves out members that fail, and names them.  The previous epoch becomes invalid.

    Example: blockful committee keygen --run runs/mine
    """
    run = located_run(run)
    from blockful_py.pipeline.coordination.rotation import Rotated
    from blockful_py.pipeline.federation import Federation

    out = Output(as_json, quiet)
    with out.stage("generate a key", None), Federation.open(run) as federation:
        generated = federation.epochs.hand_over()
    charter = generated.charter
    _show(
        out,
        Rotated(charter.epoch, charter.members, charter.threshold, generated.key.key_id, generated.excluded),
        "left out",
    )


def rotate(
    run: OptionalRun = None,
    member: MemberOption = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Elect the next committee, have it generate its key, and update the archive chain.

    Waits for the phases of the election.  If the command is interrupted, anybody can run it again to
    continue.

    Example: blockful committee rotate --run runs/mine
    """
    run = located_run(run) if run else None
    out = Output(as_json, quiet)
    with opened(run, member, passphrase_file) as federation:
        rotated = federation.epochs.rotate(tell=out.progress)
    _show(out, rotated, "elected, but without a share")


def fund(run: Run, as_json: AsJson = False) -> None:
    """Give gas money for both chains to responding members whose accounts are empty.

    A member pays from its own account when it takes over a request, raises an alarm, or submits evidence.
    The command does nothing on chains other than development chains: send ether to the accounts that
    `blockful committee status` shows.

    Example: blockful committee fund --run runs/mine
    """
    run = located_run(run)
    from blockful_py.pipeline.federation import Federation

    out = Output(as_json)
    with Federation.open(run) as federation:
        funded = federation.epochs.fund()
    out.result({"funded": ["0x" + account.hex() for account in funded]})
    for account in funded:
        out.say(f"account 0x{account.hex()} can pay for gas")
    if not funded:
        out.say("no account was empty on a development chain")


def _show(out: Output, rotated: Rotated, left_out: str) -> None:
    """Shows an epoch; `left_out` says what became of the members without a share of its key."""
    members = ["0x" + address.hex() for address in rotated.members]
    out.result(
        {
            "epoch": rotated.epoch,
            "keyId": "0x" + rotated.key_id.hex(),
            "threshold": rotated.threshold,
            "members": members,
            "excluded": list(rotated.excluded),
        }
    )
    out.say(f"epoch {rotated.epoch}: {len(members)} members, {rotated.threshold} make a collision")
    for each in rotated.excluded:
        out.say(f"{left_out}: {each}")
