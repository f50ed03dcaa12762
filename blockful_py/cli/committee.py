# SPDX-License-Identifier: Apache-2.0
"""Shows a committee, starts its epochs, and gives its members gas money."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import typer

from blockful_py.chain.ether import format_ether
from blockful_py.cli.console import Output
from blockful_py.cli.options import (
    LATEST,
    AsJson,
    MemberOption,
    OptionalRun,
    PassphraseFile,
    Quiet,
    Run,
    located_run,
)
from blockful_py.cli.parties import opened

if TYPE_CHECKING:
    from blockful_py.chain.sortition import ElectionState
    from blockful_py.pipeline.coordination.rotation import Rotated
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
