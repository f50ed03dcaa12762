# SPDX-License-Identifier: Apache-2.0
"""Registers a member for elections (`blockful committee join`)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blockful_py.chain.ether import format_ether, parse_ether
from blockful_py.cli.console import Output
from blockful_py.cli.options import (
    ArchiveUrl,
    AsJson,
    FederationOption,
    LiveUrl,
    OptionalRun,
    PassphraseFile,
    located_run,
    urls,
)
from blockful_py.cli.parties import member_run
from blockful_py.cli.passphrase import passphrase_from


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
    from blockful_py.committee.service.folder import keys_in

    out, wei = Output(as_json), parse_ether(stake)
    keys = keys_in(folder, passphrase_from(passphrase_file, folder))
    from blockful_py.member.candidacy import Candidate, fund
    from blockful_py.member.endpoints import place_for, signer_of
    from blockful_py.pipeline.run.directory import RunDirectory
    from blockful_py.pipeline.run.nodes import Nodes
    from blockful_py.pipeline.run.opened import OpenedRun
    from blockful_py.pipeline.run.pocket_money import provide

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
