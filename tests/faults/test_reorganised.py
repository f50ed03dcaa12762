# SPDX-License-Identifier: Apache-2.0
"""Settled blocks that change after a job: an alarm for every reader, and work that continues."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from blockful_py.errors import ReorganisedError
from blockful_py.member.duties import ChainsDuty
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.contracts import Contracts, open_contracts
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.types import Paradigm, Position
from tests.devnets import set_balance
from tests.faults.ground import Ground
from tests.federations import small, versions

SETTINGS = small(
    federation={"users": 2, "graph": {"s": (), "x": ("s",)}},
    unlearning={"starts": ("s",)},
    committee={"size": 1},
    chain={"packaging_interval": 0},
)


STRANGER = bytes([6]) * 20


@pytest.fixture(scope="module")
def ground(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return Ground.lay(SETTINGS, tmp_path_factory.mktemp("reorganised"), chains)


@pytest.fixture
def run(ground: Ground, tmp_path: Path) -> Iterator[Path]:
    with ground.copied(tmp_path / "run") as copy:
        yield copy


def revert(nodes: Nodes, marks: tuple[str, str]) -> None:
    """Resets both chains, which then continue differently."""
    for node, mark in zip((nodes.live, nodes.archive), marks, strict=True):
        assert node.rpc.call("evm_revert", mark)
        set_balance(node, STRANGER, 1)
        for _ in range(20):
            node.rpc.call("evm_mine")


def marked(nodes: Nodes) -> tuple[str, str]:
    return nodes.live.rpc.call("evm_snapshot"), nodes.archive.rpc.call("evm_snapshot")


def test_it_is_told_at_the_next_opening_once_for_both_chains(ground: Ground, run: Path) -> None:
    nodes, marks = ground.nodes, marked(ground.nodes)
    unchanged = (nodes.live.block_number(), nodes.archive.block_number())
    with Federation.open(run, nodes=nodes) as federation:
        federation.unlearn(paradigm=Paradigm.SEQUENTIAL)
        assert versions(federation) == {"s": 1, "x": 1}
    revert(nodes, marks)
    told = "".join(
        rf".*chain {chain} was reorganised deeper than chain.confirmations = 0.*unchanged up to block {block}"
        for chain, block in zip((1337, 1338), unchanged, strict=True)
    )
    with pytest.raises(ReorganisedError, match=told):
        Federation.open(run, nodes=nodes)
    with Federation.open(run, nodes=nodes) as again:
        assert [each.version for each in again.contracts.live.transactions([Position(1, 0)])] == [0]
        failures = again.verify().failures
    assert {each.check for each in failures} == {"content"}, "the live store has deleted what was replaced"


def test_it_is_told_at_verification(ground: Ground, run: Path) -> None:
    nodes = ground.nodes
    with Federation.open(run, nodes=nodes) as federation:
        marks = marked(nodes)
        for node in (nodes.live, nodes.archive):
            node.rpc.call("evm_mine")
        assert federation.verify().passed
        revert(nodes, marks)
        with pytest.raises(ReorganisedError, match=r"chain 1337 was reorganised.*chain 1338 was reorganised"):
            federation.verify()
        assert federation.verify().passed


def test_a_member_tells_it(ground: Ground, run: Path, tmp_path: Path) -> None:
    nodes, directory = ground.nodes, RunDirectory.open(run)
    contracts: Contracts = open_contracts(nodes, directory.deployments, tmp_path / "member")
    office: Any = SimpleNamespace(view_if_any=lambda: SimpleNamespace(contracts=contracts))
    duty = ChainsDuty(office)
    duty.step()
    marks = marked(nodes)
    nodes.archive.rpc.call("evm_mine")
    duty.step()
    revert(nodes, marks)
    contracts.archive.archived()  # an earlier reading does not hide it
    with pytest.raises(ReorganisedError, match="chain 1338 was reorganised"):
        duty.step()
    duty.step()
