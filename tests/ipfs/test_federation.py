# SPDX-License-Identifier: Apache-2.0
"""A federation whose models are on two IPFS nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from blockful_py.errors import StorageError
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.storage.ipfs import IpfsStore
from tests.federations import AFFECTED, small, trained
from tests.ipfs.conftest import SECONDS
from tests.ipfs.nodes import IpfsNode


def test_it_trains_forgets_and_verifies(
    tmp_path: Path, chains: Nodes, node: IpfsNode, second: IpfsNode
) -> None:
    settings = small(storage={"api": node.api, "archive_api": second.api})
    with trained(settings, tmp_path / "run", chains) as federation:
        before = {uri for uri in federation.stores.live if federation.stores.archive.has(uri)}
        federation.unlearn()
        assert federation.verify().passed
        assert federation.audit().passed
        live = IpfsStore(node.api, SECONDS)
        old = {uri for uri in before if not live.has(uri)}
        assert len(old) >= len(AFFECTED)
        assert all(federation.stores.archive.has(uri) for uri in old)
    assert not (tmp_path / "run" / "live").exists()


def test_a_node_that_does_not_run_is_one_error(tmp_path: Path, chains: Nodes, node: IpfsNode) -> None:
    settings = small(storage={"api": node.api, "archive_api": "/ip4/127.0.0.1/tcp/1"})
    with (
        Federation.create(settings, tmp_path / "run", nodes=chains) as federation,
        pytest.raises(StorageError, match="tcp/1 cannot be reached"),
    ):
        federation.train()
