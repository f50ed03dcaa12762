# SPDX-License-Identifier: Apache-2.0
"""Member processes that join an elected committee, and a clock that advances when they are done."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from blockful_py.chain.committee import CommitteeContract
from blockful_py.chain.sender import Sender
from blockful_py.chain.sortition import ElectionState, Phase
from blockful_py.committee.service.folder import keys_in
from blockful_py.member.candidacy import Candidate, fund
from blockful_py.member.endpoints import signer_of
from blockful_py.pipeline.coordination.rotation import Rotated
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.clock import tick
from blockful_py.pipeline.run.nodes import ChainEndpoints, Nodes
from tests.federations import small
from tests.member.processes import WORDS, MemberProcess, members

ETHER = 10**18
EPOCH_SECONDS, PERIOD_SECONDS = 1_000, 600


@dataclass
class Electorate:
    """A federation with a committee elected from `members`; the `alive` candidates take part."""

    federation: Federation
    members: list[MemberProcess]
    alive: int

    @property
    def committee(self) -> CommitteeContract:
        return self.federation.contracts.elected

    def seated(self, epoch: int) -> list[MemberProcess]:
        """Processes of the members of an epoch, by roster index."""
        return self._of(self.committee.roster(epoch)[0].members)

    def elected(self) -> list[MemberProcess]:
        """Processes of the members elected in the current election."""
        return self._of(self.committee.elected())

    def _of(self, addresses: Sequence[bytes]) -> list[MemberProcess]:
        by_address = {member.address: member for member in self.members}
        return [by_address[address] for address in addresses]

    def candidate(self, member: MemberProcess) -> Candidate:
        keys = keys_in(member.folder, WORDS)
        node = self.committee.node
        return Candidate(CommitteeContract(node, self.committee.address, Sender(node, signer_of(keys))), keys)

    def account(self, member: MemberProcess) -> bytes:
        return keys_in(member.folder, WORDS).account

    def join(self, member: MemberProcess, stake: int = ETHER) -> None:
        fund(self.committee, self.federation.nodes.live_sender, self.account(member), stake)
        self.candidate(member).join(stake)

    def pass_time(self, seconds: int) -> None:
        self.committee.node.rpc.call("evm_increaseTime", seconds)
        tick(self.committee.node)

    def pause(self, election: ElectionState) -> None:
        """Ends a phase when all living members have done their part."""
        done = {
            Phase.COMMIT: election.committed,
            Phase.REVEAL: election.revealed,
            Phase.PROVE: election.proven,
        }
        expected = min(self.alive, election.committed) if election.phase is not Phase.COMMIT else self.alive
        if done.get(election.phase, -1) >= expected:
            self.pass_time(PERIOD_SECONDS)
        else:
            time.sleep(0.1)

    def rotate(self) -> Rotated:
        """Starts a new epoch after the current one's minimum length."""
        self.pass_time(EPOCH_SECONDS)
        return self.federation.epochs.rotate(self.pause)


@contextlib.contextmanager
def electorate(
    count: int, directory: Path, chains: Nodes, size: int = 4, stall_seconds: float = 60.0
) -> Iterator[Electorate]:
    """An electorate of `count` members that have joined; nobody is elected yet."""
    with members(count, directory, directory / "run", chains) as processes:
        committee = {
            "roster": "elected",
            "members": tuple(member.url for member in processes),
            "size": size,
            "round_seconds": 90.0,
            "stall_seconds": stall_seconds,
            "election": {
                "epoch_length": EPOCH_SECONDS,
                "commit_period": PERIOD_SECONDS,
                "reveal_period": PERIOD_SECONDS,
                "prove_period": PERIOD_SECONDS,
                "confirm_period": PERIOD_SECONDS,
                "unbonding_delay": 5_000,
                "min_trust": 200_000,
            },
        }
        ids = (chains.live.chain_id, chains.archive.chain_id)
        with (
            Nodes(ChainEndpoints(*ids, chains.live.url, chains.archive.url)) as nodes,
            Federation.create(small(committee=committee), directory / "run", nodes=nodes) as federation,
        ):
            found = Electorate(federation, processes, count)
            for member in processes:
                found.join(member)
            yield found
