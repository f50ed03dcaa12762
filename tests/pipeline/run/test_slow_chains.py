# SPDX-License-Identifier: Apache-2.0
"""A federation on chains whose blocks come in their own time, or whose nodes allow little."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from blockful_py.chain import rpc
from blockful_py.chain.devnet import Devnet, NodeOptions, start_together
from blockful_py.chain.node import connect
from blockful_py.pipeline.federation import Federation
from tests.federations import promised, small
from tests.strict_node import BUSY, Habits, StrictNode

MINING_SECONDS = 0.05


@contextmanager
def mined(devnets: Sequence[Devnet]) -> Iterator[None]:
    """Somebody else mines all the time."""
    over = threading.Event()

    def mine() -> None:
        nodes = [connect(each.url) for each in devnets]
        while not over.wait(MINING_SECONDS):
            for node in nodes:
                node.rpc.call("evm_mine")
        for node in nodes:
            node.close()

    thread = threading.Thread(target=mine)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def forgets(devnets: Sequence[Devnet | StrictNode], folder: Path, confirmations: int) -> None:
    """Deploys, trains, unlearns, verifies and audits a federation of two users."""
    settings = small(
        federation={"users": 2, "graph": {"s": (), "x": ("s",)}},
        unlearning={"starts": ("s",)},
        chain={
            "packaging_interval": 0,
            "confirmations": confirmations,
            "live_url": devnets[0].url,
            "archive_url": devnets[1].url,
        },
    )
    with Federation.create(settings, folder / "run") as federation:
        federation.train()
        federation.unlearn()
    with Federation.open(folder / "run") as again:
        assert {name: placed.version for name, placed in again.catalogue().models.items()} == {"s": 1, "x": 1}
        assert again.nodes.live.confirmations == confirmations
        assert again.verify().passed
        assert again.audit().passed
        promised(again.contracts)


@pytest.mark.parametrize(
    ("seconds", "confirmations"),
    [(0.25, 0), pytest.param(1, 0, marks=pytest.mark.slow), pytest.param(1, 2, marks=pytest.mark.slow)],
)
def test_a_chain_with_a_block_every_so_often(tmp_path: Path, seconds: float, confirmations: int) -> None:
    interval = ("--block-time", str(seconds))
    options = [NodeOptions(each, kind="anvil", more=interval) for each in (1337, 1338)]
    devnets = start_together(*options)
    try:
        forgets(devnets, tmp_path, confirmations)
    finally:
        for each in devnets:
            each.close()


@pytest.mark.parametrize("confirmations", [pytest.param(0, marks=pytest.mark.slow), 3])
def test_a_chain_that_does_not_mine_at_once(tmp_path: Path, confirmations: int) -> None:
    options = [NodeOptions(each, kind="anvil", more=("--no-mining",)) for each in (1337, 1338)]
    devnets = start_together(*options)
    try:
        with mined(devnets):
            forgets(devnets, tmp_path, confirmations)
    finally:
        for each in devnets:
            each.close()


@pytest.mark.slow
def test_nodes_that_limit_and_reorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rpc, "_PAUSE", 0.01)
    habits = Habits(blocks=50, calls=20, busy=BUSY["429 with words"], reorders=True)
    devnets = start_together(*(NodeOptions(each, kind="anvil") for each in (1337, 1338)))
    try:
        with StrictNode(devnets[0].url, habits) as live, StrictNode(devnets[1].url, habits) as archive:
            forgets((live, archive), tmp_path, 0)
            assert live.refused and archive.refused
    finally:
        for each in devnets:
            each.close()
