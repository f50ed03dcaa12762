# SPDX-License-Identifier: Apache-2.0
"""Status of a committee: its epoch, its election, its alarms, and the member or the error at each URL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from blockful_py.chain.alarm_registry import AlarmRegistryContract
from blockful_py.chain.committee import CommitteeContract
from blockful_py.chain.node import Node
from blockful_py.chain.sortition import ElectionState, Phase
from blockful_py.pipeline.coordination.remote_committee import Reachable, ReachableMember
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.types import Address, Bytes32


@dataclass(frozen=True, slots=True)
class Candidacy:
    """A joined member's entry on the chain; `stake` in wei, `trust` in parts per million."""

    account: Address
    stake: int
    trust: int
    leaving: bool
    slashed: bool


@dataclass(frozen=True, slots=True)
class MemberStatus:
    """A URL and the member that answers there.

    Attributes:
        ready: the member has a seat in the current epoch and a share of its key, and was not slashed.
        elected: it is elected in the open election.
        account: pays for its transactions; None if no member answers.
        short: chains on which the account cannot pay for a transaction as large as a block, with its
            balance in wei.
        problem: why no member answers; None if one does.
    """

    url: str
    address: Address | None
    ready: bool
    elected: bool
    candidacy: Candidacy | None
    account: Address | None
    short: Mapping[int, int]
    problem: str | None


@dataclass(frozen=True, slots=True)
class CommitteeStatus:
    """A committee's status; `archive_epoch` is None before epoch 1, `election` for appointed members."""

    epoch: int
    archive_epoch: int | None
    quorum: int
    election: ElectionState | None
    members: tuple[MemberStatus, ...]

    @property
    def ready(self) -> int:
        return sum(member.ready for member in self.members)


@dataclass(frozen=True, slots=True)
class RaisedAlarm:
    """An alarm on the chain: a proposal that a member refused; `member` is a voting address."""

    epoch: int
    proposal: Bytes32
    member: Address
    reason: str

    def __str__(self) -> str:
        proposal, member = self.proposal.hex()[:8], self.member.hex()
        return f"ALARM epoch {self.epoch}, proposal 0x{proposal}, member 0x{member}: {self.reason}"

    def to_json(self) -> dict[str, int | str]:
        proposal, member = "0x" + self.proposal.hex(), "0x" + self.member.hex()
        return {"epoch": self.epoch, "proposal": proposal, "member": member, "reason": self.reason}


def raised_alarms(registry: AlarmRegistryContract) -> tuple[RaisedAlarm, ...]:
    """All alarms of all epochs, oldest first."""
    alarms = [event.arguments for event in registry.events("AlarmRaised")]
    return tuple(RaisedAlarm(a["epoch"], a["proposal"], a["member"], a["reason"]) for a in alarms)


def status_of(contracts: Contracts, reachable: Reachable) -> CommitteeStatus:
    """The status that chains and members report.  Raises NodeError."""
    committee = contracts.committee
    epoch = committee.current_epoch()
    roster, quorum = committee.roster(epoch)
    key_id = committee.key_id(epoch)
    book = committee if isinstance(committee, CommitteeContract) else None
    election = book.election() if book is not None else None
    elected = book.elected() if book is not None and election and election.phase is Phase.CONFIRM else ()
    nodes = [committee.node]
    if contracts.followers is not None and contracts.mirror.chain_id != committee.chain_id:
        nodes.append(contracts.mirror.node)
    costs = [(node, _block_cost(node)) for node in nodes]
    members = []
    for url, each in reachable.items():
        if not isinstance(each, ReachableMember):
            members.append(MemberStatus(url, None, False, False, None, None, {}, str(each)))
            continue
        address, account = each.client.address, each.identity.account
        candidacy = _candidacy(book, address) if book is not None else None
        seated = address in roster.members and key_id in each.identity.key_ids
        ready = seated and not (candidacy is not None and candidacy.slashed)
        short = {node.chain_id: balance for node, cost in costs if (balance := node.balance(account)) < cost}
        members.append(MemberStatus(url, address, ready, address in elected, candidacy, account, short, None))
    follows = contracts.mirror.current_epoch() if contracts.followers is not None else None
    return CommitteeStatus(epoch, follows, quorum, election, tuple(members))


def _block_cost(node: Node) -> int:
    """Cost of all gas of a block, in wei."""
    return int(node.latest_block()["gasLimit"], 16) * int(node.rpc.call("eth_gasPrice"), 16)


def _candidacy(committee: CommitteeContract, voter: Address) -> Candidacy | None:
    account = committee.registrant_of(voter)
    if not any(account):
        return None
    state = committee.candidate(account)
    leaving = bool(state.unbonding_since)
    return Candidacy(account, state.stake, committee.trust(account), leaving, state.slashed)
