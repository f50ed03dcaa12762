# SPDX-License-Identifier: Apache-2.0
"""Shows the state of the committee (`blockful committee status`)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import typer

from blockful_py.chain.ether import format_ether
from blockful_py.cli.console import Output
from blockful_py.cli.options import LATEST, AsJson, MemberOption, OptionalRun, PassphraseFile, located_run
from blockful_py.cli.parties import opened

if TYPE_CHECKING:
    from blockful_py.chain.sortition import ElectionState
    from blockful_py.pipeline.coordination.status import MemberStatus


def status(
    run: OptionalRun = None,
    member: MemberOption = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Show the epoch of both chains, the election, the members with stake and trust, and the alarms.

    A member whose account cannot pay for a full block of gas may be unable to take over a request.  Ends with
    status 6 if fewer members than a quorum are ready.

    Example: blockful committee status --run runs/mine
    """
    if member is None:
        run = located_run(run or LATEST)
    out = Output(as_json)
    with opened(run, member, passphrase_file) as federation:
        from blockful_py.pipeline.coordination.status import status_of
        from blockful_py.settings import quorum_of

        enough = quorum_of(len(federation.settings.committee.members))
        current = status_of(federation.contracts, federation.epochs.reachable(enough))
        alarms = federation.alarms()
    out.result(
        {
            "epoch": current.epoch,
            "archiveEpoch": current.archive_epoch,
            "quorum": current.quorum,
            "ready": current.ready,
            "election": _election(current.election),
            "members": [_member(each) for each in current.members],
            "alarms": [each.to_json() for each in alarms],
        }
    )
    follows = current.archive_epoch if current.archive_epoch is not None else "not deployed"
    out.say(
        f"epoch {current.epoch} (archive chain: {follows}), {current.ready} members ready, "
        f"quorum {current.quorum}"
    )
    if current.election is not None:
        out.say(_phase(current.election))
    for each in current.members:
        address = "0x" + each.address.hex() if each.address else "-"
        out.say(f"{each.url}  {address:42}  {_state(each)}")
    for alarm in alarms:
        out.say(str(alarm))
    if current.epoch == 0 or current.ready < current.quorum:
        raise typer.Exit(6)


def _election(election: ElectionState | None) -> dict[str, Any] | None:
    if election is None:
        return None
    return {
        "phase": election.phase.name.lower(),
        "epoch": election.epoch,
        "draw": election.draw,
        "attempt": election.attempt,
        "deadline": election.deadline,
        "committed": election.committed,
        "revealed": election.revealed,
        "proven": election.proven,
    }


def _member(member: MemberStatus) -> dict[str, Any]:
    document: dict[str, Any] = {
        "url": member.url,
        "address": "0x" + member.address.hex() if member.address else None,
        "ready": member.ready,
        "elected": member.elected,
        "problem": member.problem,
        "account": "0x" + member.account.hex() if member.account else None,
        "short": {str(chain): format_ether(balance) for chain, balance in member.short.items()},
        "candidacy": None,
    }
    if (known := member.candidacy) is not None:
        document["candidacy"] = {
            "account": "0x" + known.account.hex(),
            "stake": format_ether(known.stake),
            "trust": known.trust / 1_000_000,
            "leaving": known.leaving,
            "slashed": known.slashed,
        }
    return document


def _phase(election: ElectionState) -> str:
    from blockful_py.chain.sortition import Phase

    if election.phase is Phase.IDLE:
        return "no election is under way"
    until = datetime.fromtimestamp(election.deadline, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    counts = f"{election.committed} committed, {election.revealed} revealed, {election.proven} proven"
    return f"election of epoch {election.epoch}: {election.phase.name.lower()} until {until}, {counts}"


def _state(member: MemberStatus) -> str:
    if member.problem is not None:
        return member.problem
    states = ["ready" if member.ready else "has no seat in this epoch"]
    if member.elected:
        states.append("elected")
    if (known := member.candidacy) is not None:
        states.append(f"stake {format_ether(known.stake)}, trust {known.trust / 1_000_000:.3f}")
        states += ["leaving"] * known.leaving + ["slashed"] * known.slashed
    if member.short and member.account:
        has = " and ".join(
            f"{format_ether(wei)} ether on chain {chain}" for chain, wei in member.short.items()
        )
        states.append(f"its account 0x{member.account.hex()} has {has}: send it more so that it can lead")
    return ", ".join(states)
