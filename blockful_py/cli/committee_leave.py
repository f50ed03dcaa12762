# SPDX-License-Identifier: Apache-2.0
"""Withdraws a member and its stake (`blockful committee leave`)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from blockful_py.chain.ether import format_ether
from blockful_py.cli.console import Output
from blockful_py.cli.options import ArchiveUrl, AsJson, LiveUrl, PassphraseFile, Run, located_run, urls
from blockful_py.cli.passphrase import passphrase_from


def leave(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The member's folder.")],
    run: Run,
    live_url: LiveUrl = None,
    archive_url: ArchiveUrl = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Leave even if data that only this member has is lost.")
    ] = False,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Take a member out of elections.  Repeat the command after the delay to withdraw the stake.

    In a federation of machines, the member first hands its files and data keys to the others.

    The stake of a serving member stays locked until another committee is active on both chains.

    Example: blockful committee leave members/1 --run runs/mine
    """
    run = located_run(run)
    from blockful_py.committee.service.folder import VAULT, keys_in

    out, keys = Output(as_json), keys_in(folder, passphrase_from(passphrase_file, folder))
    from blockful_py.committee.vault import Vault
    from blockful_py.member.candidacy import Candidate
    from blockful_py.member.endpoints import signer_of
    from blockful_py.member.leaving import hand_on
    from blockful_py.member.office import MemberView

    with MemberView.of(run, urls(live_url, archive_url), signer_of(keys)) as view:
        if not anyway and hand_on(view, keys, Vault(folder / VAULT, keys.voting_secret)):
            out.say("a quorum of the members has this member's files and keys")
        departure = Candidate(view.contracts.elected, keys).leave()
    stake = format_ether(departure.stake)
    out.result({"state": departure.state, "stake": stake, "withdrawableAt": departure.at})
    if departure.state == "serving":
        out.say(f"the member serves: repeat this when another committee is active ({stake} ether)")
    elif departure.state == "replaced":
        out.say(f"repeat this when the archive chain has followed the new committee ({stake} ether)")
    elif departure.at is not None:
        when = datetime.fromtimestamp(departure.at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        out.say(f"{stake} ether can be taken from {when}: repeat this then")
    else:
        out.say(f"the member has left; {stake} ether went back to its account")
