# SPDX-License-Identifier: Apache-2.0
"""The contracts' event counts expose a node that leaves events out, and none of its data is accepted."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from blockful_py.chain import logs
from blockful_py.chain.committee import CommitteeContract
from blockful_py.chain.contract import Contract
from blockful_py.chain.devnet import Devnet, NodeOptions
from blockful_py.chain.node import Node, connect
from blockful_py.chain.participant_registry import Endpoint
from blockful_py.chain.reader_registry import ReaderRegistryContract
from blockful_py.crypto import curve, signature
from blockful_py.errors import MissingEventsError
from blockful_py.types import ArchiveReason, ArchiveRecord, Position
from tests.chain.conftest import Scene
from tests.chain.council import Council, uri
from tests.chain.town import Town
from tests.lossy import Losses, LossyNode, LossyRpc, lossy


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "PAUSE", 0.0)


def publish(scene: Scene) -> None:
    block = scene.council.block(scene.live, 2)
    action = scene.council.certify(scene.live, [scene.live.append_leaf(block, 0, 1)])[0]
    scene.live.send(scene.live.append_data(block, action))


def archive(scene: Scene) -> None:
    book = scene.archive
    record = ArchiveRecord(Position(1, 0), 0, ArchiveReason.PUBLISHED, uri(f"record {book.length()}"))
    action = scene.council.archive(book, [record])
    book.send(book.append_data(book.head(), book.node.timestamp(), [record], action))


def announce(scene: Scene) -> None:
    for number in range(2):
        scene.participants.announce(Endpoint(bytes([1 + number]) * 20, f"http://{number}.example"))


def register(scene: Scene) -> None:
    readers = readers_of(scene, scene.node)
    for secret in (5, 6):
        readers.register(curve.multiply_base(secret))


def alarm(scene: Scene) -> None:
    book = scene.alarms
    proposal = scene.council.rng(32)
    for index in range(2):
        digest = book.digest(scene.council.domain, 1, proposal, "reason")
        book.alarm(1, proposal, "reason", index, signature.sign(scene.council.secrets[index], digest))


def nothing(_: Scene) -> None:
    """A contract whose only event is its deployment."""


def readers_of(scene: Scene, node: Node) -> ReaderRegistryContract:
    return ReaderRegistryContract(node, scene.deployment.address("ReaderRegistry"), scene.sender)


EMITS: Mapping[str, Callable[[Scene], None]] = {
    "LiveChain": publish,
    "ArchiveRegistry": archive,
    "ParticipantRegistry": announce,
    "ReaderRegistry": register,
    "AlarmRegistry": alarm,
    "AppointedCommittee": nothing,
    "QuorumMirror": nothing,
}
"""Function names that make a contract emit two events, or one."""


def adapter(scene: Scene, name: str, node: Node, kept: Path | None = None) -> Contract:
    """A contract at a node; `kept`: as for Contract."""
    found: Mapping[str, Contract] = {
        type(each).NAME: each
        for each in (
            *(scene.live, scene.archive, scene.participants, readers_of(scene, scene.node)),
            *(scene.alarms, scene.committee, scene.mirror),
        )
    }
    return type(found[name])(node, found[name].address, kept=kept)


@pytest.mark.parametrize("left", [0, -1])
@pytest.mark.parametrize("name", EMITS)
def test_an_answer_that_lacks_events_is_asked_for_again(
    scene: Scene, name: str, left: int, tmp_path: Path
) -> None:
    """Neither this process nor the next one believes that an event of any contract is missing."""
    node, losses = lossy(scene.node)
    read = adapter(scene, name, node, tmp_path)
    if EMITS[name] is not nothing:
        read.log()
        EMITS[name](scene)
    losses.leave_out(read.address, left, answers=1)
    found = [*read.log()]
    assert losses.lost == 1
    assert found == [*adapter(scene, name, scene.node).log()]
    assert found == [*adapter(scene, name, scene.node, tmp_path).log()]


def test_an_epoch_of_an_elected_committee_is_asked_for_again() -> None:
    with Devnet(NodeOptions(4242, kind="anvil")) as devnet:
        town = Town.founded([devnet.sender(index) for index in range(6)])
        town.elect()
        node, losses = lossy(devnet.node)
        losses.leave_out(town.book.address, answers=1)
        events = CommitteeContract(node, town.book.address).events("EpochStarted")
        assert losses.lost == 1
        assert [each.arguments["epoch"] for each in events] == [1]


@pytest.mark.parametrize("left", [0, -1])
def test_a_node_that_never_lists_them_is_named_and_not_believed(
    scene: Scene, left: int, tmp_path: Path
) -> None:
    node, losses = lossy(scene.node)
    live = adapter(scene, "LiveChain", node, tmp_path)
    before = len(live.log())
    publish(scene)
    (file,) = tmp_path.iterdir()
    kept = file.read_bytes()
    losses.leave_out(live.address, left)
    counted = len(scene.live.log())
    told = (
        rf"the node at {node.url} lists \d+ events of LiveChain at 0x{live.address.hex()} up to block "
        rf"{scene.node.block_number()}, and the contract has counted {counted}: .*another node of chain"
    )
    for look in (live.log, live.newest_block, live.require_unchanged):
        with pytest.raises(MissingEventsError, match=told):
            look()
    assert file.read_bytes() == kept
    losses.mend()
    assert len(live.log()) == counted > before


def test_a_machine_that_lacks_the_block_is_one_that_lags(scene: Scene) -> None:
    """The machine has no logs of the block and does not know the requested count."""
    node, losses = lossy(scene.node)
    live = adapter(scene, "LiveChain", node)
    live.log()
    losses.height = scene.node.block_number()
    publish(scene)
    told = f"does not say how many events LiveChain has emitted up to block {scene.node.block_number()}"
    with pytest.raises(MissingEventsError, match=told):
        live.log()
    losses.mend()
    assert [*live.log()] == [*scene.live.log()]


@pytest.mark.parametrize("believed", ["nothing", "all but one"])
def test_a_file_that_lacks_events_is_made_anew(scene: Scene, tmp_path: Path, believed: str) -> None:
    """The file of a process that had accepted an empty answer."""
    publish(scene)
    whole = [*adapter(scene, "LiveChain", scene.node, tmp_path).log()]
    (file,) = tmp_path.iterdir()
    line = json.loads(file.read_text())
    line["logs"] = line["logs"][:-1] if believed == "all but one" else []
    file.write_text(json.dumps(line) + "\n")
    if believed == "nothing":
        publish(scene)
        whole = [*scene.live.log()]
    assert [*adapter(scene, "LiveChain", scene.node, tmp_path).log()] == whole
    assert len(file.read_text().splitlines()) == 1
    assert len(json.loads(file.read_text())["logs"]) == len(whole)


def test_all_blocks_are_not_read_again_at_every_look(scene: Scene, tmp_path: Path) -> None:
    """A node without an old event costs one long reading a minute, however many clients ask."""
    publish(scene)
    adapter(scene, "LiveChain", scene.node, tmp_path).log()
    (file,) = tmp_path.iterdir()
    line = json.loads(file.read_text())
    file.write_text(json.dumps({**line, "logs": line["logs"][1:]}) + "\n")
    node, losses = lossy(scene.node)
    losses.leave_out(scene.live.address, -1)
    live = adapter(scene, "LiveChain", node, tmp_path)
    for _ in range(3):
        with pytest.raises(MissingEventsError):
            live.log()
    assert losses.lost == 1
    losses.mend()


def test_an_event_that_is_listed_twice_stands_for_no_other(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(scene)
    node, _ = lossy(scene.node)

    def doubled(_: Losses, method: str, __: object, result: list[object]) -> object:
        return [result[0], *result[:-1]] if method == "eth_getLogs" else result

    monkeypatch.setattr(Losses, "answered", doubled)
    with pytest.raises(MissingEventsError):
        adapter(scene, "LiveChain", node).log()


def test_a_look_at_a_chain_without_a_new_block_is_one_request(scene: Scene, tmp_path: Path) -> None:
    node, _ = lossy(scene.node)
    assert isinstance(node.rpc, LossyRpc)
    live = adapter(scene, "LiveChain", node, tmp_path)
    live.log()
    node.rpc.requests.clear()
    for _ in range(3):
        live.newest_block()
        live.log()
    assert node.rpc.requests == [["eth_getBlockByNumber"]] * 6
    node.rpc.requests.clear()
    publish(scene)
    live.log()
    assert [len(each) for each in node.rpc.requests] == [1, 3]


def test_the_next_node_is_asked_where_one_leaves_events_out(
    anvil: Devnet, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    council = Council.gathered(b"left out")
    with LossyNode(anvil.url) as first, LossyNode(anvil.url) as second:
        node = connect([first.url, second.url], anvil.chain_id)
        scene = Scene.on(node, anvil.signer(0), council)
        publish(scene)
        live = adapter(scene, "LiveChain", node, tmp_path)
        first.losses.leave_out(live.address)
        assert len(live.log()) == 3
        assert node.url == second.url
        assert f"is read from {second.url}. the node at {first.url} lists 0 events" in caplog.text
        second.losses.leave_out(live.address, -1)
        publish(scene)
        with pytest.raises(MissingEventsError, match=rf"{first.url} lists .*{second.url} lists"):
            live.log()
        first.losses.mend()
        assert len(live.log()) == 6
        node.close()
