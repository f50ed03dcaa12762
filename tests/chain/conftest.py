# SPDX-License-Identifier: Apache-2.0
"""A Ganache, an Anvil and an embedded chain for the whole session; tests deploy contracts as needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from blockful_py.chain.alarm_registry import AlarmRegistryContract
from blockful_py.chain.archive_registry import ArchiveRegistryContract
from blockful_py.chain.deployments import Deployment, deploy_archive, deploy_live
from blockful_py.chain.devnet import Devnet, NodeOptions
from blockful_py.chain.embedded_devnet import EmbeddedDevnet
from blockful_py.chain.live_chain import LiveChainContract
from blockful_py.chain.node import Node, connect
from blockful_py.chain.participant_registry import ParticipantRegistryContract
from blockful_py.chain.quorum import AppointedCommitteeContract, QuorumMirrorContract
from blockful_py.chain.sender import Sender
from blockful_py.chain.signer import Signer
from blockful_py.crypto.eip712 import Domain
from tests.chain.council import Council

KINDS = ("ganache", "anvil", "embedded")
SEATS = 3
AnyDevnet = Devnet | EmbeddedDevnet


@dataclass
class Scene:
    """Both chains on one node, with a committee."""

    node: Node
    sender: Sender
    council: Council
    deployment: Deployment

    @classmethod
    def on(cls, node: Node, signer: Signer, council: Council) -> Scene:
        """Deploys new contracts from the account of `signer`."""
        sender = Sender(node, signer)
        live = deploy_live(sender, council.roster, seats=SEATS)
        committee = live.address("AppointedCommittee")
        archive = deploy_archive(sender, node.chain_id, committee, council.roster)
        council.domain = Domain(node.chain_id, committee)
        return cls(node, sender, council, live.merged(archive))

    @property
    def live(self) -> LiveChainContract:
        return LiveChainContract(self.node, self.deployment.address("LiveChain"), self.sender)

    @property
    def archive(self) -> ArchiveRegistryContract:
        return ArchiveRegistryContract(self.node, self.deployment.address("ArchiveRegistry"), self.sender)

    @property
    def committee(self) -> AppointedCommitteeContract:
        return AppointedCommitteeContract(
            self.node, self.deployment.address("AppointedCommittee"), self.sender
        )

    @property
    def alarms(self) -> AlarmRegistryContract:
        return AlarmRegistryContract(self.node, self.deployment.address("AlarmRegistry"), self.sender)

    @property
    def participants(self) -> ParticipantRegistryContract:
        """The registry, as the deploying account uses it."""
        return self.participants_for(self.sender)

    def participants_for(self, sender: Sender) -> ParticipantRegistryContract:
        return ParticipantRegistryContract(self.node, self.deployment.address("ParticipantRegistry"), sender)

    @property
    def mirror(self) -> QuorumMirrorContract:
        return QuorumMirrorContract(self.node, self.deployment.address("QuorumMirror"), self.sender)


@pytest.fixture(scope="session")
def ganache() -> Iterator[Devnet]:
    with Devnet(NodeOptions(1337)) as devnet:
        yield devnet


@pytest.fixture(scope="session")
def anvil() -> Iterator[Devnet]:
    with Devnet(NodeOptions(31337, kind="anvil")) as devnet:
        yield devnet


@pytest.fixture(scope="session")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedDevnet]:
    with EmbeddedDevnet(tmp_path_factory.mktemp("embedded") / "chain.sqlite", 1338) as devnet:
        yield devnet


@pytest.fixture(scope="module", params=[pytest.param("ganache", marks=pytest.mark.slow), *KINDS[1:]])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    """A scene on a node that is given by its URL, like a user's own node.

    Ganache, the slowest, is among the slow tests, except in `test_same_outcomes`, `test_sender` and
    `test_participant_registry`.
    """
    devnet: AnyDevnet = request.getfixturevalue(request.param)
    node = connect(devnet.url, devnet.chain_id)
    yield Scene.on(node, devnet.signer(0), Council.gathered(b"scene"))
    node.close()
