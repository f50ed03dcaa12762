# SPDX-License-Identifier: Apache-2.0
"""Leaders that die after the certification of a proposal: the members finish it exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from signal import SIGCONT
from typing import Any

import pytest

from blockful_py.chain.contract import Contract
from blockful_py.committee.outbox_store import NOTES, OutboxStore
from blockful_py.committee.service.folder import MemberFolder, keys_in
from blockful_py.committee.service.outbox import Outbox
from blockful_py.errors import ChainError
from blockful_py.member.endpoints import Urls
from blockful_py.member.finishing import FinishingDuty, rank
from blockful_py.member.office import MemberOffice
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.lease import request_under_way
from blockful_py.pipeline.run.nodes import Nodes
from tests.devnets import set_balance
from tests.federations import AFFECTED, GRAPH, promised, small, versions
from tests.member.leaders import lead_until, unsettled, until
from tests.member.processes import WORDS, MemberProcess, members

STALL_SECONDS = 5.0
"""More than a living leader needs between two transactions, even on a busy machine."""
ETHER = 10**18


@dataclass
class Court:
    """A federation whose members have funded accounts on both chains."""

    federation: Federation
    members: list[MemberProcess]

    def publish(self) -> Federation:
        """Every model is on the chain."""
        self.federation.train()
        return self.federation

    @property
    def accounts(self) -> set[str]:
        return {"0x" + keys_in(member.folder, WORDS).account.hex() for member in self.members}

    def done(self, before: dict[str, int]) -> dict[str, int]:
        """Proposals that each chain has executed since `before`."""
        return {name: count - before[name] for name, count in self.executed().items()}

    def executed(self) -> dict[str, int]:
        """Proposals that each chain has executed."""
        contracts = self.federation.contracts
        sides: dict[str, Contract] = {"archive": contracts.archive, "live": contracts.live}
        return {
            name: len({each.arguments["proposal"] for each in side.log() if "proposal" in each.arguments})
            for name, side in sides.items()
        }

    def sender(self, contract: Contract, event: str) -> str:
        """The sender of the transaction with the latest event."""
        transaction = contract.events(event)[-1].transaction_hash
        found: dict[str, Any] = contract.node.rpc.call("eth_getTransactionByHash", "0x" + transaction.hex())
        return str(found["from"])

    def reopened(self) -> Federation:
        """The run opened by its next user: the job is settled without a transaction."""
        run = self.federation.run
        blocks = [node.block_number() for node in self.nodes]
        assert unsettled(run) == 1
        federation = Federation.open(run.path, nodes=self.federation.nodes)
        assert unsettled(run) == 0
        assert [node.block_number() for node in self.nodes] == blocks
        assert federation.verify().passed
        assert federation.audit().passed
        promised(federation.contracts)
        return federation

    @property
    def nodes(self) -> list[Any]:
        return [self.federation.nodes.live, self.federation.nodes.archive]


def pay(chains: Nodes, account: bytes, wei: int = ETHER) -> None:
    for node in (chains.live, chains.archive):
        set_balance(node, account, wei)


@pytest.fixture(scope="module")
def court(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Court]:
    """A court without published models."""
    folder: Path = tmp_path_factory.mktemp("court")
    with members(4, folder, folder / "run", chains) as processes:
        committee = {
            "roster": "services",
            "members": tuple(member.url for member in processes),
            "size": 4,
            "round_seconds": 60.0,
            "stall_seconds": STALL_SECONDS,
        }
        for member in processes:
            pay(chains, keys_in(member.folder, WORDS).account)
        with Federation.create(small(committee=committee), folder / "run", nodes=chains) as federation:
            yield Court(federation, processes)


@pytest.mark.slow
def test_a_block_whose_leader_dies_is_published(court: Court, chains: Nodes) -> None:
    """Its leader dies after the archive's transaction and before the live chain's."""
    federation = court.federation
    before = court.executed()
    lead_until(federation.run.path, chains, 1, ())
    until(lambda: federation.contracts.live.height() == 1)
    assert court.done(before) == {"archive": 1, "live": 1}
    assert court.sender(federation.contracts.live, "BlockAppended") in court.accounts
    court.reopened().train()
    assert versions(federation) == dict.fromkeys(GRAPH, 0)


@pytest.mark.parametrize(
    ("transaction", "number"),
    [pytest.param(0, 0, id="neither", marks=pytest.mark.slow), pytest.param(1, 1, id="archive only")],
)
def test_a_redaction_whose_leader_dies_is_finished_exactly_once(
    court: Court, chains: Nodes, transaction: int, number: int
) -> None:
    federation = court.publish()
    old = set(federation.stores.live)
    before, chunks, redacted = versions(federation), court.executed(), federation.contracts.live
    count = len(redacted.redactions())
    lead_until(federation.run.path, chains, transaction, (number,))
    until(lambda: len(redacted.redactions()) > count)
    assert len(redacted.redactions()) == count + len(AFFECTED)
    assert court.done(chunks) == {"archive": 1, "live": 1}
    assert court.sender(redacted, "ModelRedacted") in court.accounts
    assert versions(federation) == {name: before[name] + (name in AFFECTED) for name in GRAPH}
    assert old <= set(federation.stores.live)
    again = court.reopened().unlearn(classes=[number])
    assert not old <= set(federation.stores.live)
    assert (again.executed, again.nodes.keys()) == ((), set(AFFECTED))
    assert court.done(chunks) == {"archive": 1, "live": 1}
    assert request_under_way(federation.run.journal) is None


@pytest.mark.slow
def test_members_that_restart_finish_what_they_kept(court: Court, chains: Nodes) -> None:
    federation, chunks = court.publish(), court.executed()
    lead_until(federation.run.path, chains, 1, (2,), court.members)
    for member in court.members:
        member.kill()
    assert court.done(chunks) == {"archive": 1, "live": 0}
    for member in court.members:
        member.start()
    until(lambda: court.done(chunks)["live"] == 1)
    court.reopened().unlearn(classes=[2])


@pytest.mark.slow
def test_a_member_that_cannot_pay_says_so(court: Court, chains: Nodes) -> None:
    federation, poor, chunks = court.publish(), court.members[0], court.executed()
    accounts = [keys_in(member.folder, WORDS).account for member in court.members]
    account = accounts[0]
    urls = Urls(chains.live.url, chains.archive.url)
    lead_until(federation.run.path, chains, 1, (4,), court.members)
    poor.kill()
    for each in accounts:  # the others sign for the live chain, and send nothing
        pay(chains, each, 0)
    for member in court.members[1:]:
        member.signal(SIGCONT)
    now = 0.0
    with (
        closing(MemberFolder.open(poor.folder, WORDS)) as folder,
        Outbox(OutboxStore(poor.folder / NOTES)) as outbox,
    ):
        office = MemberOffice(federation.run.path, folder, urls, frozenset())
        duty = FinishingDuty(office, outbox, lambda: now)
        duty.step()
        now = 5 * STALL_SECONDS
        with pytest.raises(ChainError, match=r"has 0 wei .* send it some"):
            duty.step()
        assert court.done(chunks) == {"archive": 1, "live": 0}
        pay(chains, account)
        now = 10 * STALL_SECONDS
        duty.step()
        assert court.done(chunks) == {"archive": 1, "live": 1}
        assert outbox.kept()
        duty.step()
        assert not outbox.kept()
        office.close()
    for each in accounts:
        pay(chains, each)
    poor.start()
    court.reopened().unlearn(classes=[4])


def test_one_member_goes_first_and_which_one_depends_on_the_proposal() -> None:
    proposals = [bytes([number]) * 32 for number in range(8)]
    ranks = [[rank(proposal, index, 4) for index in (1, 2, 3, 4)] for proposal in proposals]
    assert all(sorted(each) == [0, 1, 2, 3] for each in ranks)
    assert len({tuple(each) for each in ranks}) > 1
