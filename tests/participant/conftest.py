# SPDX-License-Identifier: Apache-2.0
"""A federation of machines on this one: a founder, four members as processes, seven participants.

The participants have the data and seed of a laboratory with the same settings, so that both can be compared.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from blockful_py.chain.committee import CommitteeContract
from blockful_py.chain.sender import Sender
from blockful_py.chain.signer import Signer
from blockful_py.committee.service.folder import keys_in
from blockful_py.errors import QuorumError
from blockful_py.forget import Forget
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.member.candidacy import Candidate, fund
from blockful_py.member.endpoints import signer_of
from blockful_py.participant.auditors_turns import AuditorsTurns
from blockful_py.participant.folder import ParticipantFolder
from blockful_py.participant.joining import join
from blockful_py.pipeline.coordination import rotation
from blockful_py.pipeline.coordination.remote_committee import RemoteCommittee
from blockful_py.pipeline.founding import create, found
from blockful_py.pipeline.party import PartyRun
from blockful_py.pipeline.run.accounts import provide
from blockful_py.pipeline.run.contracts import Contracts, open_contracts
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.entering import FILE
from blockful_py.pipeline.run.nodes import ChainEndpoints, Nodes
from blockful_py.pipeline.run.training_data import save_users
from blockful_py.record.federation_file import uri_of
from blockful_py.record.model_node import ModelNode
from blockful_py.settings import Settings
from blockful_py.types import Paradigm
from tests.devnets import set_balance
from tests.federations import GRAPH, small
from tests.member.leaders import until
from tests.member.processes import QUICK, WORDS, MemberProcess, members

ETHER = 10**18
PERIOD_SECONDS = 600
MEMBERS = 4
SEED = 0


@dataclass
class Participant:
    """One participant: its folder, keys and nodes; `run` opens its run."""

    folder: ParticipantFolder
    keys: ReaderKeys
    nodes: Nodes

    def run(self) -> PartyRun:
        return PartyRun.of_participant(self.folder.run, self.nodes, self.keys)

    def disclose(self, share: float) -> None:
        """Lets members check that share of its trainings, as if it had joined so."""
        run = RunDirectory.open(self.folder.run)
        assert run.party is not None
        run.renewed(run.settings, replace(run.party, discloses=share))

    def agree_to(self, auditors: Sequence[ReaderKeys]) -> None:
        """Lets one of these auditors replay its trainings, as if it had joined so."""
        run = RunDirectory.open(self.folder.run)
        assert run.party is not None
        accounts = tuple("0x" + each.account.hex() for each in auditors)
        run.renewed(run.settings, replace(run.party, auditors=accounts))


@dataclass
class Machines:
    """A founded federation without published models."""

    folder: Path
    settings: Settings
    members: list[MemberProcess]
    participants: dict[str, Participant]
    contracts: Contracts
    founder: ReaderKeys

    @property
    def file(self) -> Path:
        return self.folder / "founder" / FILE

    def publish(self) -> Machines:
        """Has each participant train and publish its model; returns the same federation."""
        for name in GRAPH:
            with self.participants[name].run() as party:
                party.train_next()
        return self

    def ask(self, name: str, label: int, method: str | None = None) -> int:
        """Files a sequential request of an owner to forget a class; returns its number."""
        with self.participants[name].run() as party:
            return party.request((name,), Forget.of_classes([label]), Paradigm.SEQUENTIAL, method)

    def take(self, name: str, number: int) -> ModelNode:
        """Has an owner do its part of a request, once auditors have replayed it; returns the new node."""
        participant, nodes = self.participants[name], tuple[ModelNode, ...]()
        while not nodes:
            with participant.run() as party:
                assert party.federation.context.docket[number].due(participant.keys.account)
                await_auditor(party, number, participant.keys.account)
                nodes = party.take_part(number)
        (node,) = nodes
        return node


def await_auditor(party: PartyRun, number: int, account: bytes) -> None:
    """Waits until no part of an account waits for an auditor's word."""
    context = party.federation.context
    turns = AuditorsTurns(context.contracts, context.stores.live, context.leader.remote())
    until(lambda: not turns.awaited(context.docket[number], account))


def machine_settings(urls: tuple[str, ...], **sections: dict[str, Any]) -> Settings:
    election = {
        "epoch_length": 86_400,
        "commit_period": PERIOD_SECONDS,
        "reveal_period": PERIOD_SECONDS,
        "prove_period": PERIOD_SECONDS,
        "confirm_period": PERIOD_SECONDS,
    }
    committee = {
        "roster": "elected",
        "members": urls,
        "size": min(len(urls), MEMBERS),
        "stall_seconds": 3.0,
        "round_seconds": 60.0,
        "election": election,
    }
    return small(committee=committee, **sections)


def nodes_for(chains: Nodes, secret: int) -> Nodes:
    place = ChainEndpoints(chains.live.chain_id, chains.archive.chain_id, chains.live.url, chains.archive.url)
    return Nodes(place, Signer(secret.to_bytes(32, "big")))


@pytest.fixture(scope="module")
def rules() -> Mapping[str, Any]:
    """Settings that differ for a test's federation."""
    return {}


@pytest.fixture(scope="module")
def candidates() -> int:
    """Member processes, of which MEMBERS are elected."""
    return MEMBERS


def follows(member: MemberProcess, digest: str) -> bool:
    """Whether a member follows the federation file with this digest."""
    party = RunDirectory.open(member.folder / "run").party
    return party is not None and party.federation == digest


@contextmanager
def breaking_off() -> Iterator[None]:
    """A founding within the block ends after its election."""

    def push(*_: object) -> None:
        raise QuorumError("no member is there")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RemoteCommittee, "push", push)
        yield


@pytest.fixture(scope="module")
def machines(
    chains: Nodes, rules: Mapping[str, Any], candidates: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machines]:
    folder = tmp_path_factory.mktemp("machines")
    founder = ReaderKeys.generate()
    with ExitStack() as stack:
        nodes = stack.enter_context(nodes_for(chains, founder.account_secret))
        for node in (chains.live, chains.archive):
            set_balance(node, founder.account, ETHER)

        def founded(urls: tuple[str, ...]) -> Path:
            create("test", machine_settings(urls, **rules), folder / "founder", nodes)
            return folder / "founder" / FILE

        processes = stack.enter_context(members(candidates, folder, folder, chains, found=founded))
        settings = machine_settings(tuple(member.url for member in processes), **rules)
        contracts = open_contracts(nodes, folder / "founder" / "deployments")
        committee = contracts.elected
        for member in processes:
            keys = keys_in(member.folder, WORDS)
            fund(committee, chains.live_sender, keys.account, ETHER)
            provide(chains.archive_sender, contracts.live.interface, keys.account)
            sender = Sender(committee.node, signer_of(keys))
            Candidate(CommitteeContract(committee.node, committee.address, sender), keys).join(ETHER)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rotation, "a_second", lambda election: time.sleep(0.1))
            with breaking_off(), pytest.raises(QuorumError, match="no member is there"):
                found(folder / "founder", nodes, founder.account_secret, None, None)
            found(folder / "founder", nodes, founder.account_secret, None, None)
        file = (folder / "founder" / FILE).read_bytes()
        digest = uri_of(file).digest.hex()
        until(lambda: all(follows(member, digest) for member in processes))
        participants = {}
        data = save_users(replace(settings, seed=SEED), folder / "data")
        for name, path in zip(GRAPH, data, strict=True):
            party = ParticipantFolder(folder / f"participant-{name}")
            keys_of = party.init(WORDS, QUICK)
            own = stack.enter_context(nodes_for(chains, keys_of.account_secret))
            for node in (chains.live, chains.archive):
                set_balance(node, keys_of.account, ETHER)
            join(party, keys_of, file, str(path), own, SEED, "cpu")
            participants[name] = Participant(party, keys_of, own)
        opened = open_contracts(nodes, folder / "founder" / "deployments")
        yield Machines(folder, settings, processes, participants, opened, founder)
