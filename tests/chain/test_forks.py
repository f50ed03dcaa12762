# SPDX-License-Identifier: Apache-2.0
"""The contracts under the rules of each fork: they run since Shanghai and are not deployed before."""

from __future__ import annotations

import pytest

from blockful_py.chain.archive_registry import ArchiveRegistryContract
from blockful_py.chain.calls import ESTIMATE_MARGIN, MAX_TRANSACTION_GAS, Call, limit_of
from blockful_py.chain.deployments import deploy_archive, deploy_elected, deploy_live
from blockful_py.chain.devnet import Devnet, NodeOptions
from blockful_py.chain.live_chain import LiveChainContract
from blockful_py.chain.sortition import Parameters
from blockful_py.crypto.eip712 import Domain
from blockful_py.errors import DeploymentError, NodeError
from blockful_py.types import ArchiveReason, ArchiveRecord, Position
from tests.chain.council import Council, uri


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
        live.send(live.append_data(block, council.certify(live, [live.append_leaf(block, 0, 1)])[0]))
        position = Position(live.height(), 0)
        updates, headers = council.redaction(live, [position])
        live.send(
            live.redact_data(
                updates, headers, council.certify(live, [live.redact_leaf(updates, headers, 0, 1)])[0]
            )
        )
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


def test_the_largest_transactions_fit_the_limit_of_osaka() -> None:
    """EIP-7825: 2^24 gas a transaction.

    The largest have 128 models, in a full block with the maximum number of references, or 128 records.
    """
    options = NodeOptions(31337, kind="anvil", hardfork="osaka", more=("--enable-tx-gas-limit",))
    with Devnet(options) as devnet:
        node, sender = devnet.node, devnet.sender()
        council = Council.gathered(b"largest")
        deployed = deploy_live(sender, council.roster, seats=3)
        committee = deployed.address("AppointedCommittee")
        registered = deploy_archive(sender, node.chain_id, committee, council.roster)
        council.domain = Domain(node.chain_id, committee)
        live = LiveChainContract(node, deployed.address("LiveChain"), sender)
        archive = ArchiveRegistryContract(node, registered.address("ArchiveRegistry"), sender)
        used = []
        for references in ([], [Position(1, index) for index in range(17)]):
            block = council.block(live, 128, references)
            (action,) = council.certify(live, [live.append_leaf(block, 0, 1)])
            used.append(live.send(live.append_data(block, action)).gas_used)
        chunk = council.redaction(live, [Position(2, index) for index in range(128)])
        (action,) = council.certify(live, [live.redact_leaf(*chunk, 0, 1)])
        used.append(live.send(live.redact_data(*chunk, action)).gas_used)
        records = [
            ArchiveRecord(Position(2, index), 0, ArchiveReason.PUBLISHED, uri(f"2:{index}"))
            for index in range(128)
        ]
        action, now = council.archive(archive, records), archive.node.timestamp()
        used.append(archive.send(archive.append_data(archive.head(), now, records, action)).gas_used)
        assert max(used) * ESTIMATE_MARGIN < MAX_TRANSACTION_GAS
        beyond = Call(live.interface, live.address, b"", gas=MAX_TRANSACTION_GAS + 1)
        with pytest.raises(NodeError, match="gas"):
            sender.send(beyond)


def test_the_margin_lifts_no_limit_above_that_of_osaka() -> None:
    assert limit_of(100_000) == 125_000
    assert limit_of(MAX_TRANSACTION_GAS - 1) == MAX_TRANSACTION_GAS
    assert limit_of(MAX_TRANSACTION_GAS + 1) == MAX_TRANSACTION_GAS + 1
