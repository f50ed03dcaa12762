# SPDX-License-Identifier: Apache-2.0
"""Makes a committee member, registers it, updates it, has it agree to motions, and takes it out."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from blockful_py.chain.ether import format_ether, parse_ether
from blockful_py.cli.console import Output
from blockful_py.cli.options import (
    AllowedCode,
    ArchiveUrl,
    AsJson,
    FederationOption,
    LiveUrl,
    OptionalRun,
    PassphraseFile,
    Run,
    located_run,
    urls,
)
from blockful_py.cli.parties import member_keys, member_run
from blockful_py.cli.passphrase import passphrase_from

if TYPE_CHECKING:
    from blockful_py.committee.keystore import MemberKeys
    from blockful_py.committee.motions import Motion


def init(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder to make for the member.")],
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Make a member: a folder with fresh keys under a passphrase, and empty state.

    Prints the member's voting address and the account that pays for its transactions.  Fund this account if
    the committee is elected.  The passphrase comes from a file, from $BLOCKFUL_PASSPHRASE, or from a prompt.

    Example: blockful committee init members/1
    """
    from blockful_py.committee.service.folder import MemberFolder

    out = Output(as_json)
    member = MemberFolder.create(folder, passphrase_from(passphrase_file, repeat=True))
    member.close()
    address, account = "0x" + member.address.hex(), "0x" + member.keys.account.hex()
    out.result({"folder": str(folder), "address": address, "account": account})
    out.say(f"member {address} in {folder}", f"its account is {account}")


def join(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The member's folder.")],
    stake: Annotated[str, typer.Option("--stake", metavar="ETHER", help="The stake, such as 1 or 1.5.")],
    run: OptionalRun = None,
    federation: FederationOption = None,
    funded: Annotated[
        bool,
        typer.Option("--fund", help="Fund the member from the run's account (development only)."),
    ] = False,
    live_url: LiveUrl = None,
    archive_url: ArchiveUrl = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Register a member with a stake so that it may be elected, or raise its stake.

    The member's account pays.  Joining cancels an earlier request to leave.

    Example: blockful committee join members/1 --run runs/mine --stake 1
    """
    run = located_run(run) if run else None
    out, wei = Output(as_json), parse_ether(stake)
    keys = member_keys(folder, passphrase_file)
    from blockful_py.member.candidacy import Candidate, fund
    from blockful_py.member.endpoints import place_for, signer_of
    from blockful_py.pipeline.run.accounts import provide
    from blockful_py.pipeline.run.directory import RunDirectory
    from blockful_py.pipeline.run.nodes import Nodes
    from blockful_py.pipeline.run.opened import OpenedRun

    place = urls(live_url, archive_url)
    run = member_run(folder, run, federation, live_url, archive_url, keys)
    directory = RunDirectory.open(run)
    with OpenedRun.attach(
        directory, place=place_for(directory.place, place), account=signer_of(keys)
    ) as opened:
        contracts = opened.contracts
        committee, sent = contracts.elected, 0
        if funded:
            with Nodes(opened.nodes.place) as payer:
                sent = fund(committee, payer.live_sender, keys.account, wei)
                provide(payer.archive_sender, contracts.live.interface, keys.account)
        joined = Candidate(committee, keys).join(wei)
    account, address = "0x" + joined.account.hex(), "0x" + joined.voter.hex()
    out.result(
        {
            "account": account,
            "address": address,
            "stake": format_ether(joined.stake),
            "funded": format_ether(sent),
        }
    )
    out.say(f"member {address} stands for election with {format_ether(joined.stake)} ether of {account}")


def enter(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The member's folder.")],
    federation: Annotated[
        Path, typer.Option("--federation", metavar="FILE", help="The federation file (federation.toml).")
    ],
    live_url: LiveUrl = None,
    archive_url: ArchiveUrl = None,
    allow: AllowedCode = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Check a federation file against the chains and have the member follow it, even while it serves.

    A member follows changes of the file by itself; use this command for a file that no other member serves.

    Example: blockful committee enter members/1 --federation federation.toml
    """
    out = Output(as_json)
    keys = member_keys(folder, passphrase_file)
    run = member_run(folder, None, federation, live_url, archive_url, keys, allow)
    out.result({"run": str(run)})
    out.say(f"the member in {folder} follows {federation}")


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
    out, keys = Output(as_json), member_keys(folder, passphrase_file)
    from blockful_py.committee.service.folder import VAULT
    from blockful_py.committee.vault import Vault
    from blockful_py.member.candidacy import Candidate
    from blockful_py.member.endpoints import signer_of
    from blockful_py.member.leaving import hand_on
    from blockful_py.member.view import MemberView

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
    from blockful_py.committee.motions import AGREED, Agreements
    from blockful_py.pipeline.coordination.motions import read_motion

    out, parsed = Output(as_json), read_motion(motion)
    keys = member_keys(folder, passphrase_file)
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
    from blockful_py.member.view import MemberView
    from blockful_py.pipeline.run.entering import RUN

    if motion.matter is not Matter.CHANGE_FILE:
        return ()
    with MemberView.of(folder / RUN, None, signer_of(keys)) as view:
        return tuple(map(str, view.file_changes.review(motion.subject)))
