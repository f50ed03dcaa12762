# SPDX-License-Identifier: Apache-2.0
"""Past events of a contract: read once, kept in a file, and read again after a reorganisation."""

from __future__ import annotations

from pathlib import Path

import pytest

from blockful_py.chain.live_chain import LiveChainContract
from blockful_py.chain.node import Node, connect
from blockful_py.errors import NodeError, ReorganisedError
from blockful_py.types import Position
from tests.chain.conftest import Scene
from tests.chain.pruning import pruned


def redacted(scene: Scene) -> Position:
    """A model of a new block, redacted to version 1."""
    live, council = scene.live, scene.council
    block = council.block(live, 1)
    live.send(live.append_data(block, council.certify(live, [live.append_leaf(block, 0, 1)])[0]))
    position = Position(live.height(), 0)
    redact(scene, position)
    return position


def redact(scene: Scene, position: Position) -> None:
    """Redacts a model to its next version."""
    live, council = scene.live, scene.council
    updates, headers = council.redaction(live, [position])
    live.send(
        live.redact_data(
            updates, headers, council.certify(live, [live.redact_leaf(updates, headers, 0, 1)])[0]
        )
    )


def kept_in(scene: Scene, folder: Path, node: Node | None = None) -> LiveChainContract:
    return LiveChainContract(node or scene.node, scene.deployment.address("LiveChain"), kept=folder)


def pruning(scene: Scene) -> Node:
    """The node without the logs of all blocks so far."""
    return pruned(scene.node, scene.node.block_number())


def test_openings_are_kept_when_the_node_prunes_its_logs(scene: Scene, tmp_path: Path) -> None:
    position = redacted(scene)
    before = kept_in(scene, tmp_path).transaction(position)
    header = kept_in(scene, tmp_path).header(position.height)
    assert before.opening is not None
    assert header.opening is not None
    node = pruning(scene)
    with pytest.raises(NodeError, match=r"refused to list events: pruned.*copy the folder `events`"):
        kept_in(scene, tmp_path / "elsewhere", node).transaction(position)
    kept = kept_in(scene, tmp_path, node)
    assert (kept.transaction(position), kept.header(position.height)) == (before, header)
    redact(scene, position)
    assert kept.transaction(position).version == 2
    assert kept.transaction(position).opening not in (None, before.opening)
    assert kept_in(scene, tmp_path, node).log() == kept.log()


def test_an_executed_proposal_is_known_by_what_was_kept(scene: Scene, tmp_path: Path) -> None:
    redacted(scene)
    proposal = kept_in(scene, tmp_path).events("HeaderRedacted")[-1].arguments["proposal"]
    assert kept_in(scene, tmp_path, pruning(scene)).progress(proposal) == (1, 1)


def test_events_are_read_again_after_a_reorganisation(scene: Scene, tmp_path: Path) -> None:
    position = redacted(scene)
    kept, rpc = kept_in(scene, tmp_path), scene.node.rpc
    mark = rpc.call("evm_snapshot")
    redact(scene, position)
    lost = kept.transaction(position)
    assert rpc.call("evm_revert", mark)
    assert kept.transaction(position).version == 1
    redact(scene, position)
    redact(scene, position)
    assert kept.transaction(position).version == 3
    assert kept.log() == scene.live.log() == kept_in(scene, tmp_path).log()
    assert lost.opening not in [each.arguments.get("opening") for each in kept.log()]


def test_a_line_that_was_cut_short_is_read_from_the_node(scene: Scene, tmp_path: Path) -> None:
    redacted(scene)
    whole = kept_in(scene, tmp_path).log()
    (file,) = tmp_path.iterdir()
    file.write_text(file.read_text()[:-100])
    assert kept_in(scene, tmp_path).log() == whole
    file.write_bytes(b"\xff\xff")
    assert kept_in(scene, tmp_path).log() == whole


def test_events_before_a_fork_are_kept_although_the_node_pruned_them(scene: Scene, tmp_path: Path) -> None:
    position = redacted(scene)
    before = tuple(kept_in(scene, tmp_path).log())
    node, mark = pruning(scene), scene.node.rpc.call("evm_snapshot")
    redact(scene, position)
    assert len(kept_in(scene, tmp_path, node).log()) > len(before)
    assert scene.node.rpc.call("evm_revert", mark)
    assert tuple(kept_in(scene, tmp_path, node).log()) == before
    assert tuple(kept_in(scene, tmp_path, node).log()) == before


def test_a_reorganisation_is_told_once_by_the_first_block_that_changed(scene: Scene, tmp_path: Path) -> None:
    position = redacted(scene)
    kept, node = kept_in(scene, tmp_path), scene.node
    kept.require_unchanged()
    unchanged = node.block_number()
    mark = node.rpc.call("evm_snapshot")
    redact(scene, position)
    kept.require_unchanged()
    first, was = node.block_number(), node.latest_block()["hash"]
    redact(scene, position)
    kept.require_unchanged()
    assert node.rpc.call("evm_revert", mark)
    for _ in range(3):
        redact(scene, position)
    told = (
        rf"chain {node.chain_id} was reorganised deeper than chain.confirmations = 0: block {first} is the "
        rf"first.*it was {was} and is 0x.*unchanged up to block {unchanged}.*blockful resume"
    )
    with pytest.raises(ReorganisedError, match=told):
        kept_in(scene, tmp_path).require_unchanged()
    kept_in(scene, tmp_path).require_unchanged()
    kept.log()  # reading goes on, and the alarm waits for who asks
    with pytest.raises(ReorganisedError, match=told):
        kept.require_unchanged()
    kept.require_unchanged()
    assert kept.log() == scene.live.log() == kept_in(scene, tmp_path).log()


def test_blocks_without_events_leave_nothing_behind(scene: Scene, tmp_path: Path) -> None:
    position = redacted(scene)
    kept, rpc = kept_in(scene, tmp_path), scene.node.rpc
    before = len(kept.log())
    (file,) = tmp_path.iterdir()
    written = file.read_bytes()
    mark = rpc.call("evm_snapshot")
    for _ in range(5):
        rpc.call("evm_mine")
        assert len(kept.log()) == before
    assert file.read_bytes() == written
    redact(scene, position)
    assert kept.log() == kept_in(scene, tmp_path).log() == scene.live.log()
    assert len(file.read_bytes().splitlines()) == len(written.splitlines()) + 1
    assert rpc.call("evm_revert", mark)
    redact(scene, position)
    with pytest.raises(ReorganisedError):
        kept.require_unchanged()
    assert kept.log() == kept_in(scene, tmp_path).log() == scene.live.log()


def test_a_line_is_written_after_many_blocks_without_events(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later process need not ask for all of them."""
    monkeypatch.setattr("blockful_py.chain.logs.SPARSE", 3)
    redacted(scene)
    kept = kept_in(scene, tmp_path)
    kept.log()
    (file,) = tmp_path.iterdir()
    before = len(file.read_bytes().splitlines())
    for _ in range(6):
        scene.node.rpc.call("evm_mine")
        kept.log()
    assert len(file.read_bytes().splitlines()) == before + 2


def test_a_node_that_lags_is_no_reorganisation(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    position = redacted(scene)
    mark = scene.node.rpc.call("evm_snapshot")
    redact(scene, position)
    kept_in(scene, tmp_path).require_unchanged()
    (file,) = tmp_path.iterdir()
    before = file.read_bytes()
    assert scene.node.rpc.call("evm_revert", mark)
    monkeypatch.setattr(Node, "is_development", False)
    with pytest.raises(NodeError, match=r"does not have block .* which was read before.* it lags"):
        kept_in(scene, tmp_path).log()
    assert file.read_bytes() == before


def test_a_contract_is_read_as_deep_as_its_confirmations(scene: Scene, tmp_path: Path) -> None:
    """Blocks that a shallower reorganisation may remove are not read, so such a reorganisation goes
    unnoticed."""
    redacted(scene)
    node = connect(scene.node.url, confirmations=2)
    address = scene.deployment.address("LiveChain")
    deep = LiveChainContract(node, address, kept=tmp_path)
    for _ in range(2):
        node.rpc.call("evm_mine")
    events = len(deep.log())
    mark = node.rpc.call("evm_snapshot")
    height = scene.live.height()
    block = scene.council.block(scene.live, 1)
    leaves = [scene.live.append_leaf(block, 0, 1)]
    scene.live.send(scene.live.append_data(block, scene.council.certify(scene.live, leaves)[0]))
    node.rpc.call("evm_mine")
    assert (scene.live.height(), deep.height(), len(deep.log())) == (height + 1, height, events)
    assert node.rpc.call("evm_revert", mark)
    node.rpc.call("evm_mine")
    deep.require_unchanged()
    assert scene.live.height() == deep.height() == height
    scene.live.send(scene.live.append_data(block, scene.council.certify(scene.live, leaves)[0]))
    for _ in range(2):
        node.rpc.call("evm_mine")
    assert deep.height() == height + 1
    assert len(deep.log()) > events
    node.close()
