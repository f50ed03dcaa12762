# SPDX-License-Identifier: Apache-2.0
"""Starts an epoch with a new group key (`blockful committee keygen`)."""

from __future__ import annotations

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, Quiet, Run, located_run


def keygen(run: Run, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Have the members generate a new group key, appoint them, and update the archive chain.

    The command leaves out members that fail, and names them.  The previous epoch becomes invalid.

    Example: blockful committee keygen --run runs/mine
    """
    run = located_run(run)
    from blockful_py.pipeline.federation import Federation

    out = Output(as_json, quiet)
    with out.stage("generate a key", None), Federation.open(run) as federation:
        generated = federation.epochs.hand_over()
    charter = generated.charter
    members = ["0x" + address.hex() for address in charter.members]
    out.result(
        {
            "epoch": charter.epoch,
            "keyId": "0x" + generated.key.key_id.hex(),
            "threshold": charter.threshold,
            "members": members,
            "excluded": list(generated.excluded),
        }
    )
    out.say(f"epoch {charter.epoch}: {len(members)} members, {charter.threshold} make a collision")
    for each in generated.excluded:
        out.say(f"left out: {each}")
