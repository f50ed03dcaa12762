# SPDX-License-Identifier: Apache-2.0
"""Reads that belong together share one look at the chain."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from blockful_py.chain import node as nodes
from tests.chain.conftest import Scene
from tests.chain.test_block_answers import append, counted


def test_a_look_asks_once_for_the_newest_block(scene: Scene) -> None:
    live, archive = scene.live, scene.archive
    positions = append(scene, 2)
    with counted(scene) as calls, scene.node.one_look():
        found = live.height(), live.transactions(positions), archive.length(), live.log(), archive.log()
        asked = calls["eth_call"]
        assert found == (
            *(live.height(), live.transactions(positions)),
            *(archive.length(), live.log(), archive.log()),
        )
    assert calls["eth_getBlockByNumber"] == 1 + 2  # and each list of events compares the block before
    assert calls["eth_call"] == asked


def test_a_look_is_one_threads_alone(scene: Scene) -> None:
    with ThreadPoolExecutor(1) as other, scene.node.one_look():
        assert scene.node.is_looking and not other.submit(lambda: scene.node.is_looking).result()
        with scene.node.one_look():
            pass
        assert scene.node.is_looking
    assert not scene.node.is_looking


def test_a_transaction_of_this_process_ends_a_look(scene: Scene) -> None:
    with scene.node.one_look():
        height = scene.live.height()
        append(scene, 1)
        assert scene.live.height() == height + 1
        assert len(scene.live.transactions(append(scene, 2))) == 2


def test_a_look_does_not_outlast_its_time(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    with scene.node.one_look():
        block = scene.node.settled_block()
        scene.node.rpc.call("evm_mine")
        monkeypatch.setattr(nodes, "LOOK_SECONDS", 0.0)
        assert scene.node.settled_block()["number"] != block["number"]
    assert scene.node.settled() == "latest"
