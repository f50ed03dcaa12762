# SPDX-License-Identifier: Apache-2.0
"""The contracts under the rules of each fork: from Shanghai on they run, before they are not deployed."""

from __future__ import annotations

import pytest

from blockful_py.chain.archive_registry import ArchiveRegistryContract
from blockful_py.chain.deployments import deploy_archive, deploy_elected, deploy_live
from blockful_py.chain.devnet import Devnet, NodeOptions
from blockful_py.chain.live_chain import LiveChainContract
from blockful_py.chain.sortition import Parameters
from blockful_py.crypto.eip712 import Domain
from blockful_py.errors import DeploymentError
from blockful_py.types import Position
from tests.chain.council import Council


@pytest.mark.parametrize("hardfork", ["shanghai", "cancun", "prague", "osaka"])
def test_from_shanghai_on_the_contracts_run(hardfork: str) -> None:
    with Devnet(NodeOptions(31337, kind="anvil", hardfork=hardfork)) as devnet:
        node, sender = devnet.node, devnet.sender()
        council = Council.gathered(b"forks")
        deployed = deploy_live(sender, council.roster, seats=3)
        committee = deployed.address("AppointedCommittee")
        archive = deploy_archive(sender, node.chain_id, committee, council.roster)
        assert node.code(deploy_elected(sender, Parameters(), seats=3).address("Committee"))
        council.domain = Domain(node.chain_id, committee)
        live = LiveChainContract(node, deployed.address("LiveChain"), sender)
        block = council.block(live, 2)
        live.append(block, council.certify(live, [live.append_leaf(block, 0, 1)])[0])
        position = Position(live.height(), 0)
        updates, headers = council.redaction(live, [position])
        live.redact(updates, headers, council.certify(live, [live.redact_leaf(updates, headers, 0, 1)])[0])
        assert live.transaction(position).version == 1
        registry = ArchiveRegistryContract(node, archive.address("ArchiveRegistry"), sender)
        assert registry.length() == 0


@pytest.mark.parametrize("hardfork", ["berlin", "london", "paris"])
def test_before_shanghai_nothing_is_deployed(hardfork: str) -> None:
    with Devnet(NodeOptions(31337, kind="anvil", hardfork=hardfork)) as devnet:
        sender, roster = devnet.sender(), Council.gathered(b"forks").roster
        for deploy in (
            lambda: deploy_live(sender, roster, seats=3),
            lambda: deploy_archive(sender, 31337, bytes(20), roster),
            lambda: deploy_elected(sender, Parameters(), seats=3),
        ):
            with pytest.raises(DeploymentError, match=r"chain 31337 .* before Shanghai.*PUSH0.*shanghaiTime"):
                deploy()
        assert devnet.node.block_number() == 0
