# SPDX-License-Identifier: Apache-2.0
"""Elects the next committee (`blockful committee rotate`)."""

from __future__ import annotations

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, MemberOption, OptionalRun, PassphraseFile, Quiet, located_run
from blockful_py.cli.parties import opened


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
        out.say(f"elected, but without a share: {each}")
