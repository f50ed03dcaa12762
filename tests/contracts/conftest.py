# SPDX-License-Identifier: Apache-2.0
"""The contracts on a node of our own.  Compiled modules of brownie are imported inside functions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import requests
from web3 import HTTPProvider

from blockful_py.crypto.eip712 import Domain
from scripts.toolchain.solc import compile_files
from tests.contracts.node import quickest
from tests.contracts.patience import Patience
from tests.contracts.scene import Decider, LiveScene, Panel
from tests.contracts.sortition import rules
from tests.contracts.world import World

NODE = pytest.StashKey[ExitStack]()


def pytest_configure(config: pytest.Config) -> None:
    """Points brownie's development network to a node on a free port."""
    from brownie._config import CONFIG

    stack = ExitStack()
    config.stash[NODE] = stack
    CONFIG.networks["development"]["host"] = stack.enter_context(quickest())


def pytest_unconfigure(config: pytest.Config) -> None:
    stack = config.stash.get(NODE, None)
    if stack is not None:
        stack.close()


@pytest.fixture(scope="session", autouse=True)
def patience() -> Iterator[None]:
    """Brownie waits until its node can find a transaction that the node has counted."""
    from brownie import web3

    web3.middleware_onion.add(Patience, "patience")
    yield
    web3.middleware_onion.remove("patience")


@pytest.fixture(scope="session", autouse=True)
def quick_calls() -> Iterator[None]:
    """Calls skip the chain id and the environment, which web3 and requests read each time."""
    from brownie import web3

    before = web3.provider
    with requests.Session() as session:
        session.trust_env = False
        kwargs = {"timeout": 120}
        web3.provider = HTTPProvider(
            before.endpoint_uri, kwargs, session=session, cache_allowed_requests=True
        )
        yield
    web3.provider = before


@pytest.fixture(scope="session")
def artifacts() -> dict[str, dict[str, Any]]:
    return compile_files("tests/contracts/solidity/Harness.sol")


@pytest.fixture(scope="module")
def harness(artifacts: dict[str, dict[str, Any]], module_isolation: None) -> Any:
    """The libraries in a contract for tests."""
    from brownie import Contract, accounts

    transaction = accounts[0].transfer(data=artifacts["Harness"]["bytecode"], silent=True)
    return Contract.from_abi("Harness", transaction.contract_address, artifacts["Harness"]["abi"])


@pytest.fixture(scope="module")
def deployed(module_isolation: None) -> tuple[Any, ...]:
    """AppointedCommittee (of four, in epoch 1), LiveChain, QuorumMirror and ArchiveRegistry."""
    from brownie import AppointedCommittee, ArchiveRegistry, LiveChain, QuorumMirror, accounts, chain

    deployer, panel = accounts[0], Panel.seeded(4, "first")
    committee = deployer.deploy(AppointedCommittee, deployer)
    committee.appoint(panel.roster(), {"from": deployer})
    live = deployer.deploy(LiveChain, committee)
    mirror = deployer.deploy(QuorumMirror, chain.id, committee, 1, panel.roster())
    return committee, live, mirror, deployer.deploy(ArchiveRegistry, mirror)


@pytest.fixture
def world(deployed: tuple[Any, ...], fn_isolation: None) -> World:
    """The contracts as deployed, and an empty scene; a test's changes are undone after it."""
    from brownie import chain

    committee, live = deployed[:2]
    panel = Panel.seeded(4, "first")
    decider = Decider(panel, Domain(chain.id, bytes.fromhex(committee.address[2:])), chain_id=chain.id)
    return World(*deployed, decider, LiveScene(live.address, panel, chain.id))


@pytest.fixture(scope="module")
def elected_committee(module_isolation: None) -> Any:
    """The elected committee, with nobody registered."""
    from brownie import Committee, VrfVerifier, accounts

    verifier = accounts[0].deploy(VrfVerifier)
    return accounts[0].deploy(Committee, verifier, rules(), [])
