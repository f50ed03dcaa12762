# SPDX-License-Identifier: Apache-2.0
"""Transactions cost the same gas, emit the same events and fail for the same reasons on all chains.

Compares an embedded chain, Ganache and Anvil.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from blockful_py.chain.devnet import Devnet, NodeOptions
from blockful_py.chain.embedded_devnet import EmbeddedDevnet
from blockful_py.chain.node import Node
from blockful_py.chain.rpc import RpcError
from tests.chain.histories import everything
from tests.chain.replay import SENT, Recorder, replayed

CHAIN_ID = 1337


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorder]:
    """All recorded requests to an embedded chain."""
    path: Path = tmp_path_factory.mktemp("recorded") / "chain.sqlite"
    with EmbeddedDevnet(path, CHAIN_ID) as devnet:
        recorder = Recorder(devnet.node.rpc)
        refusals = everything(Node(recorder, CHAIN_ID))
        assert len(set(refusals)) == 19, refusals
        yield recorder


@pytest.mark.parametrize("kind", ["ganache", "anvil"])
def test_gas_events_results_and_refusals_are_the_same(recorded: Recorder, kind: str) -> None:
    asked = list(recorded.noted)
    assert sum(request[0] == SENT for request, _ in asked) >= 70
    assert sum(isinstance(answer, RpcError) for _, answer in asked) >= 19
    with Devnet(NodeOptions(CHAIN_ID, kind=kind)) as devnet:
        replayed(asked, recorded, devnet.node)
