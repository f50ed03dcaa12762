# SPDX-License-Identifier: Apache-2.0
"""The members who share sums: all of an epoch."""

from __future__ import annotations

from blockful_py.crypto import curve
from blockful_py.errors import QuorumError
from blockful_py.pipeline.coordination.remote_committee import ReachableMember, RemoteCommittee, members_at
from blockful_py.pipeline.run.contracts import Contracts


def sharers(committee: RemoteCommittee, contracts: Contracts) -> list[ReachableMember]:
    """All members of the current epoch, who share sums in the order of their addresses.

    Raises QuorumError, which names members that do not answer.
    """
    epoch = contracts.committee.current_epoch()
    roster = contracts.committee.roster(epoch)[0].members
    found = {each.client.address: each for each in members_at(committee.reachable()) if _has_voting_key(each)}
    missing = [f"0x{each.hex()}" for each in roster if each not in found]
    if missing:
        raise QuorumError(
            f"{', '.join(missing)} of {len(roster)} members do not answer, and all open a head of shared "
            "sums: repeat when they do."
        )
    return [found[address] for address in sorted(roster)]


def _has_voting_key(member: ReachableMember) -> bool:
    return curve.address(member.identity.voting_key) == member.client.address
