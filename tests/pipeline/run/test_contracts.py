# SPDX-License-Identifier: Apache-2.0
"""A federation's contracts at deployment, and sets of contracts that do not fit together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from blockful_py.chain.deployments import DeployedContract, deployments_path, load
from blockful_py.chain.interface import interface_of
from blockful_py.errors import DeploymentError
from blockful_py.pipeline.run.contracts import deploy, open_contracts
from blockful_py.pipeline.run.nodes import Nodes
from tests.federations import GRAPH, small

MEMBERS = tuple(f"http://127.0.0.1:{port}" for port in range(9001, 9005))
ELECTED = {"roster": "elected", "members": MEMBERS}


@pytest.mark.parametrize("committee", [{}, ELECTED], ids=["appointed", "elected"])
def test_each_user_has_a_seat_among_the_participants(
    chains: Nodes, tmp_path: Path, committee: dict[str, Any]
) -> None:
    contracts = deploy(chains, small(committee=committee), tmp_path / "deployments")
    registry = contracts.participants
    assert (registry._read("seats"), registry._read("open"), registry.accounts()) == (len(GRAPH), True, ())
    assert registry.deployer() == chains.live_sender.address
    assert (registry.quorum(), registry.live()) == (contracts.committee.address, contracts.live.address)


STRANGER = bytes([2]) * 20


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("AlarmRegistry", "AppointedCommittee"),
        ("LiveChain", "AppointedCommittee"),
        ("ParticipantRegistry", "AppointedCommittee"),
        ("ParticipantRegistry", "LiveChain"),
        ("ReaderRegistry", "AppointedCommittee"),
        ("ReaderRegistry", "LiveChain"),
    ],
)
def test_a_contract_that_asks_another_is_refused(
    chains: Nodes, tmp_path: Path, name: str, asked: str
) -> None:
    directory = tmp_path / "deployments"
    deploy(chains, small(), directory)
    right = load(deployments_path(directory, chains.live.chain_id), chains.live)
    committee, live = (
        STRANGER if each == asked else right.address(each) for each in ("AppointedCommittee", "LiveChain")
    )
    arguments = {
        "AlarmRegistry": (committee,),
        "LiveChain": (committee,),
        "ParticipantRegistry": (committee, live, len(GRAPH), True),
        "ReaderRegistry": (committee, live),
    }[name]
    address, receipt = chains.live_sender.deploy(interface_of(name), *arguments)
    strange = DeployedContract(address, receipt.block_number, receipt.transaction_hash)
    mixed = replace(right, contracts={**right.contracts, name: strange})
    mixed.write(directory)
    with pytest.raises(DeploymentError, match=rf"{name} at 0x.* asks 0x0202.*, not the {asked}"):
        open_contracts(chains, directory)
    right.write(directory)
    open_contracts(chains, directory)
