# SPDX-License-Identifier: Apache-2.0
"""Nodes with limits: reads and transactions succeed all the same, in other portions or later."""

from __future__ import annotations

from dataclasses import replace

import pytest

from blockful_py.chain import event_list, rpc
from blockful_py.chain.devnet import Devnet
from blockful_py.chain.failover import Failover
from blockful_py.chain.live_chain import LiveChainContract
from blockful_py.chain.logs import TRIES
from blockful_py.chain.node import connect
from blockful_py.chain.rpc import JsonRpc
from blockful_py.chain.sender import Sender
from blockful_py.errors import MissingEventsError, NodeError
from tests.chain.conftest import Scene
from tests.chain.council import Council
from tests.chain.test_left_out import archive, publish
from tests.strict_node import BUSY, Habits, StrictNode

HABITS = {
    "no more than 3 blocks of logs": Habits(blocks=3),
    "batches of 2": Habits(calls=2),
    "batches of 2, refused as a bad request": Habits(calls=2, status=400),
    "batches of 2, refused as too large": Habits(calls=2, status=413),
    "dropped connections": Habits(drops=True),
    "late answers in another order": Habits(late=0.02, reorders=True),
    **{f"busy: {words}": Habits(busy=reply) for words, reply in BUSY.items()},
}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rpc, "_PAUSE", 0.01)


@pytest.fixture(scope="module")
def deployed(anvil: Devnet) -> Scene:
    return Scene.on(anvil.node, anvil.signer(0), Council.gathered(b"strict"))


@pytest.mark.parametrize("habit", HABITS)
def test_all_is_sent_and_read(anvil: Devnet, deployed: Scene, habit: str) -> None:
    with StrictNode(anvil.url, HABITS[habit]) as strict:
        node = connect(strict.url)
        scene = replace(deployed, node=node, sender=Sender(node, anvil.signer(0)))
        publish(scene)
        archive(scene)
        address = scene.deployment.address("LiveChain")
        read = LiveChainContract(node, address, since=scene.deployment.contracts["LiveChain"].block).log()
        assert [*read] == [*LiveChainContract(anvil.node, address).log()]
        assert read
        assert strict.refused or HABITS[habit].reorders
        node.close()


def test_logs_are_asked_for_from_the_deployment_on(
    anvil: Devnet, deployed: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_list, "LOG_RANGE", 2)
    publish(deployed)
    entry = deployed.deployment.contracts["LiveChain"]
    asked = []
    batch = anvil.node.rpc.batch
    monkeypatch.setattr(anvil.node.rpc, "batch", lambda calls: [*map(asked.append, calls)] and batch(calls))
    assert LiveChainContract(anvil.node, entry.address, since=entry.block).log()
    firsts = [int(params[0]["fromBlock"], 16) for method, params in asked if method == "eth_getLogs"]
    assert min(firsts) == entry.block


def test_a_node_that_lists_nothing_is_asked_for_no_block_alone(
    anvil: Devnet, deployed: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node with pruned logs would get a request for every block of the chain."""
    monkeypatch.setattr("blockful_py.chain.logs.PAUSE", 0.0)
    with StrictNode(anvil.url, Habits(blocks=0)) as strict:
        node = connect(strict.url)
        node.rpc.call("anvil_mine", hex(200))
        contract = LiveChainContract(node, deployed.deployment.address("LiveChain"))
        with pytest.raises(MissingEventsError, match="refused to list events"):
            contract.log()
        assert strict.refused <= TRIES * (3 * node.block_number().bit_length() + 1)
        node.close()


def test_a_node_that_stays_busy_is_named_with_its_words(anvil: Devnet) -> None:
    for words, said in (("429 with words", "compute units"), ("503", "HTTP status 503")):
        with StrictNode(anvil.url, Habits(busy=BUSY[words])) as strict:
            strict.reply = lambda asked, reply=BUSY[words]: reply  # type: ignore[method-assign]
            client = JsonRpc(strict.url, patience=0.05)
            with pytest.raises(NodeError, match=f"refuses more requests .*{said}"):
                client.call("eth_chainId")
            client.close()


def test_another_node_is_asked_where_one_stays_busy(anvil: Devnet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("blockful_py.chain.failover.PATIENCE", 0.05)
    with StrictNode(anvil.url, Habits()) as strict:
        several = Failover([strict.url, anvil.url], chain_id=anvil.chain_id)
        assert several.url == strict.url
        strict.reply = lambda asked: BUSY["429"]  # type: ignore[method-assign]
        assert int(several.call("eth_chainId"), 16) == anvil.chain_id
        assert several.url == anvil.url
        several.close()
