# SPDX-License-Identifier: Apache-2.0
"""Keys are destroyed after two looks at both chains that agree, by two nodes where two are named."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from blockful_py.chain import logs
from blockful_py.errors import NodeError
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.nodes import ChainEndpoints, Nodes
from blockful_py.types import Uri
from tests.federations import put_back, small, trained
from tests.lossy import LossyNode

SETTINGS = small(
    federation={"users": 2, "graph": {"s": (), "x": ("s",)}},
    unlearning={"starts": ("s",)},
    committee={"size": 1},
)


@dataclass(frozen=True)
class Scene:
    """A federation whose chains have two nodes each; the second ones are asked for a second look."""

    federation: Federation
    second_live: LossyNode
    second_archive: LossyNode

    def weights(self) -> tuple[Uri, ...]:
        return tuple(placed.node.weights for placed in self.federation.catalogue().models.values())

    def held(self, uris: tuple[Uri, ...]) -> list[bool]:
        """Which of these the members can decrypt."""
        keyring = self.federation.context.keys.keyring
        return [keyring.holds(uri) for uri in uris]


@pytest.fixture
def scene(chains: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    monkeypatch.setattr(logs, "PAUSE", 0.0)
    with (
        put_back(chains.live, chains.archive),
        LossyNode(chains.live.url) as live,
        LossyNode(chains.archive.url) as archive,
    ):
        ids, urls = (chains.live.chain_id, chains.archive.chain_id), (chains.live.url, chains.archive.url)
        with (
            Nodes(ChainEndpoints(*ids, (urls[0], live.url), (urls[1], archive.url))) as nodes,
            trained(SETTINGS, tmp_path / "run", nodes) as federation,
        ):
            yield Scene(federation, live, archive)


@pytest.mark.parametrize("side", ["live", "archive"])
def test_keys_stay_while_the_second_node_does_not_have_the_replacement(scene: Scene, side: str) -> None:
    second = scene.second_live if side == "live" else scene.second_archive
    node = getattr(scene.federation.nodes, side)
    old = scene.weights()
    second.losses.height = node.block_number()
    with pytest.raises(NodeError, match=second.url):
        scene.federation.unlearn()
    assert scene.held(old) == [True, True]
    second.losses.mend()
    scene.federation.unlearn()
    assert scene.held(old) == [False, False]
    assert scene.held(scene.weights()) == [True, True]


def test_keys_stay_while_the_second_node_is_gone(scene: Scene) -> None:
    old = scene.weights()
    scene.second_live.close()
    chain = scene.federation.nodes.live.chain_id
    told = f"no second node of chain {chain} can be asked.*{scene.second_live.url}"
    with pytest.raises(NodeError, match=told):
        scene.federation.unlearn()
    assert scene.held(old) == [True, True]
