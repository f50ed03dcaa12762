# SPDX-License-Identifier: Apache-2.0
"""Chains that go back, lose a transaction or mine it late: a clear error, then the undisturbed end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from blockful_py.chain.calls import Call
from blockful_py.chain.node import Node, hexadecimal
from blockful_py.chain.sender import Sender
from blockful_py.chain.settlement import ARCHIVE, LIVE
from blockful_py.engine.jobs import Act, Step
from blockful_py.engine.journal import Journal, StepResult
from blockful_py.errors import NodeError
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.types import Paradigm
from tests.devnets import drop_waiting, not_mining
from tests.faults.ground import Ground
from tests.faults.states import State, assert_archived_before_replaced
from tests.federations import small

SETTINGS = small(
    federation={"users": 2, "graph": {"s": (), "x": ("s",)}},
    unlearning={"starts": ("s",)},
    committee={"size": 1},
    chain={"packaging_interval": 0, "chunk_models": 1},
)


@pytest.fixture(scope="module")
def ground(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return Ground.lay(SETTINGS, tmp_path_factory.mktemp("bad-chains"), chains)


@pytest.fixture
def run(ground: Ground, tmp_path: Path) -> Iterator[Path]:
    with ground.copied(tmp_path / "run") as copy:
        yield copy


def before_step(monkeypatch: pytest.MonkeyPatch, act: Act, number: int, what: Callable[[], object]) -> None:
    """Has something happen once, before the step of this kind and number (from 0)."""
    taking, seen = Journal.taking, 0

    @contextmanager
    def disturbed(self: Journal, step: Step) -> Iterator[StepResult]:
        nonlocal seen
        if step.act is act:
            seen += 1
            if seen == number + 1:
                what()
        with taking(self, step) as entry:
            yield entry

    monkeypatch.setattr(Journal, "taking", disturbed)


def go_back(*marks: tuple[Node, str]) -> Callable[[], None]:
    def revert() -> None:
        for node, mark in marks:
            assert node.rpc.call("evm_revert", mark)

    return revert


def give_up(sender: Sender, ground: Ground, run: Path) -> None:
    """Makes a request whose transactions to a chain are not mined in time."""
    patience, sender._deadline = sender._deadline, 0.2
    try:
        with (
            Federation.open(run, nodes=ground.nodes) as federation,
            pytest.raises(NodeError, match="the node is not mining"),
        ):
            federation.unlearn()
    finally:
        sender._deadline = patience


def transactions_of(sender: Sender) -> int:
    """Number of mined transactions of the sender's account."""
    return int(sender.node.rpc.call("eth_getTransactionCount", hexadecimal(sender.address), "latest"), 16)


def assert_resumed(ground: Ground, run: Path, paradigm: Paradigm) -> None:
    """Repeating the request leads to the undisturbed end without repeated work."""
    with Federation.open(run, nodes=ground.nodes) as federation:
        federation.unlearn(paradigm=paradigm)
        assert State.of(federation) == ground.undisturbed[paradigm]
        assert len(federation.contracts.live.redactions()) == 2


def test_an_archive_that_goes_back_before_the_live_chain_changes(
    ground: Ground, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The live chain is left alone, because the archive no longer has the versions to be replaced."""
    archive = ground.nodes.archive
    revert = go_back((archive, archive.rpc.call("evm_snapshot")))
    with Federation.open(run, nodes=ground.nodes) as federation:
        height = ground.nodes.live.block_number()
        contract = federation.contracts.archive
        send = type(contract).send_each

        def lost(self: object, calls: Sequence[Call]) -> object:
            receipts = send(contract, calls)
            revert()
            return receipts

        monkeypatch.setattr(type(contract), "send_each", lost)
        with pytest.raises(NodeError, match=r"was reorganised.*blockful resume"):
            federation.unlearn()
        assert ground.nodes.live.block_number() == height
        assert_archived_before_replaced(federation)
    monkeypatch.undo()
    assert_resumed(ground, run, Paradigm.PARALLEL)


@pytest.mark.parametrize("paradigm", Paradigm)
@pytest.mark.parametrize("which", ["live", "archive", "both"])
def test_chains_that_go_back_before_the_job_is_confirmed(
    ground: Ground, run: Path, monkeypatch: pytest.MonkeyPatch, paradigm: Paradigm, which: str
) -> None:
    """Nothing is deleted or destroyed; lost transactions are sent again."""
    nodes = [getattr(ground.nodes, side) for side in ("live", "archive") if which in (side, "both")]
    marks = [(node, node.rpc.call("evm_snapshot")) for node in nodes]
    with Federation.open(run, nodes=ground.nodes) as federation:
        files = set(federation.stores.live)
        before_step(monkeypatch, Act.CONFIRM, 0, go_back(*marks))
        with pytest.raises(NodeError, match=r"was reorganised. Nothing was deleted.*blockful resume"):
            federation.unlearn(paradigm=paradigm)
        assert files < set(federation.stores.live)
        assert {*federation.models()} == {"s", "x"}
    monkeypatch.undo()
    assert_resumed(ground, run, paradigm)


@pytest.mark.parametrize("fate", ["dropped", "mined late"])
def test_transactions_that_do_not_get_through(ground: Ground, run: Path, fate: str) -> None:
    """The live chain's node stops mining; then it forgets the transactions, or mines them late."""
    live = ground.nodes.live
    height = live.block_number()
    with not_mining(live):
        give_up(ground.nodes.live_sender, ground, run)
        if fate == "dropped":
            drop_waiting(live)
    while fate == "mined late" and live.block_number() == height:
        pass
    assert_resumed(ground, run, Paradigm.PARALLEL)


@pytest.mark.parametrize("side", [ARCHIVE, LIVE])
def test_transactions_that_are_still_on_the_way_when_the_job_goes_on(
    ground: Ground, run: Path, monkeypatch: pytest.MonkeyPatch, side: str
) -> None:
    """Estimates include them, the newest block does not: the job waits, and does not send them again."""
    node, sender = getattr(ground.nodes, side), getattr(ground.nodes, f"{side}_sender")
    sent = transactions_of(sender)
    with not_mining(node):
        give_up(sender, ground, run)
        assert transactions_of(sender) == sent
        monkeypatch.setattr(Node, "wake", lambda woken: woken.rpc.call("evm_mine"))
        assert_resumed(ground, run, Paradigm.PARALLEL)
        assert transactions_of(sender) == sent + 2
