# SPDX-License-Identifier: Apache-2.0
"""A machine's parties ask the follower; it asks the node once for all, and keeps nothing that may change."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import requests

from blockful_py.chain import follower, follower_server
from blockful_py.chain.devnet import Devnet
from blockful_py.chain.follower import ChainFollower
from blockful_py.chain.follower_server import FollowerServer
from blockful_py.chain.node import connect
from blockful_py.chain.rpc import JsonRpc, Request, Rpc, RpcError
from blockful_py.chain.sender import Sender
from blockful_py.errors import NodeError, UnreachableError
from tests.chain.conftest import Scene
from tests.chain.council import Council
from tests.chain.test_block_answers import append, redact, versions

NEWEST: Request = ("eth_getBlockByNumber", ("latest", False))
CALL: Request = ("eth_call", ({"to": "0x01"}, "0x1"))
LATEST_CALL: Request = ("eth_call", ({"to": "0x01"}, "latest"))


class StubNode(Rpc):
    """A node whose chain grows when told; it counts what it is asked."""

    def __init__(self) -> None:
        self.height = 1
        self.asked = Counter[str]()
        self.answer: Callable[[Request], Any] = lambda call: f"{call[0]} at {self.height}"

    @property
    def url(self) -> str:
        return "http://node.example"

    def batch(self, calls: Sequence[Request]) -> list[Any]:
        self.asked.update(method for method, _ in calls)
        return [self._block() if each == NEWEST else self.answer(each) for each in calls]

    def _block(self) -> dict[str, str]:
        return {"hash": f"hash {self.height}", "number": hex(self.height)}

    def close(self) -> None:
        pass


@pytest.fixture
def node() -> StubNode:
    return StubNode()


@pytest.fixture
def long_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower, "LOOK_SECONDS", 3600.0)


@pytest.fixture
def no_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every question is a look of its own."""
    monkeypatch.setattr(follower, "LOOK_SECONDS", 0.0)


def ask(node: StubNode, *rounds: Sequence[Request] | Callable[[], None]) -> list[list[Any]]:
    """Answers to each round's questions by one follower; what can be called happens between them."""

    async def all_rounds() -> list[list[Any]]:
        followed = ChainFollower(node)
        found = []
        for each in rounds:
            if callable(each):
                each()
            else:
                found.append(await followed.batch(each))
        return found

    return asyncio.run(all_rounds())


def grow(node: StubNode) -> Callable[[], None]:
    def one_block() -> None:
        node.height += 1

    return one_block


@pytest.mark.usefixtures("long_looks")
def test_many_who_ask_the_same_at_once_are_one_question(node: StubNode) -> None:
    async def crowd() -> list[list[Any]]:
        followed = ChainFollower(node)
        return await asyncio.gather(*(followed.batch([CALL, NEWEST]) for _ in range(50)))

    answers = asyncio.run(crowd())
    assert all(each == ["eth_call at 1", {"hash": "hash 1", "number": "0x1"}] for each in answers)
    assert node.asked == {"eth_call": 1, "eth_getBlockByNumber": 1}


@pytest.mark.usefixtures("no_looks")
def test_an_answer_serves_until_the_next_block(node: StubNode) -> None:
    first, same, later = ask(node, [CALL], [CALL], grow(node), [CALL])
    assert (first, same, later) == (["eth_call at 1"], ["eth_call at 1"], ["eth_call at 2"])
    assert node.asked["eth_call"] == 2


@pytest.mark.usefixtures("no_looks")
def test_the_latest_block_is_asked_for_by_its_number(node: StubNode) -> None:
    node.answer = lambda call: call[1][-1]
    assert ask(node, [LATEST_CALL], [CALL], grow(node), [LATEST_CALL]) == [["0x1"], ["0x1"], ["0x2"]]
    assert node.asked["eth_call"] == 2


@pytest.mark.usefixtures("no_looks")
def test_a_development_nodes_state_is_read_again_once_it_was_set(node: StubNode) -> None:
    ask(node, [CALL], [("anvil_setBalance", ("0x01", "0x1"))], [CALL])
    assert node.asked["eth_call"] == 2


@pytest.mark.usefixtures("long_looks")
def test_a_transaction_ends_the_look(node: StubNode) -> None:
    receipt: Request = ("eth_getTransactionReceipt", ("0xaa",))
    before, _, after = ask(node, [receipt], grow(node), [("eth_sendRawTransaction", ("0xbb",))], [receipt])
    assert (before, after) == (["eth_getTransactionReceipt at 1"], ["eth_getTransactionReceipt at 2"])


@pytest.mark.usefixtures("long_looks")
def test_whoever_sees_a_receipt_reads_its_block(node: StubNode) -> None:
    """The chain grew after the last look, which still serves."""
    receipt: Request = ("eth_getTransactionReceipt", ("0xaa",))
    node.answer = lambda call: {"blockNumber": hex(node.height)} if call == receipt else call[1][-1]
    before, seen, state = ask(node, [LATEST_CALL], grow(node), [receipt], [LATEST_CALL])
    assert (before, seen, state) == (["0x1"], [{"blockNumber": "0x2"}], ["0x2"])


@pytest.mark.usefixtures("long_looks")
def test_a_look_that_began_before_a_transaction_serves_nobody_after_it(node: StubNode) -> None:
    begun, sent = threading.Event(), threading.Event()

    def block() -> dict[str, str]:
        found = {"hash": f"hash {node.height}", "number": hex(node.height)}
        begun.set()
        sent.wait(60)
        return found

    node._block = block  # type: ignore[method-assign]
    node.answer = lambda call: call[1][-1]

    async def both() -> list[Any]:
        followed = ChainFollower(node)
        early = asyncio.create_task(followed.batch([LATEST_CALL]))
        await asyncio.to_thread(begun.wait, 60)
        node.height += 1
        await followed.batch([("eth_sendRawTransaction", ("0xbb",))])
        sent.set()
        await early
        return await followed.batch([LATEST_CALL])

    assert asyncio.run(both()) == ["0x2"]


@pytest.mark.usefixtures("long_looks")
@pytest.mark.parametrize(
    "call",
    [
        ("eth_getTransactionCount", ("0x01", "latest")),
        ("eth_getBlockByNumber", ("pending", False)),
        ("eth_estimateGas", ({},)),
        ("eth_gasPrice", ()),
        ("evm_mine", ()),
        ("eth_unheard_of", ()),
    ],
)
def test_what_changes_without_a_block_is_always_asked(node: StubNode, call: Request) -> None:
    ask(node, [call], [call])
    assert node.asked[call[0]] >= 2


@pytest.mark.usefixtures("long_looks")
def test_no_refusal_is_kept(node: StubNode) -> None:
    node.answer = lambda call: RpcError(-32000, "header not found")
    refused, answered = ask(node, [CALL], lambda: setattr(node, "answer", lambda call: "0x"), [CALL])
    assert refused == [RpcError(-32000, "header not found")]
    assert answered == ["0x"]


@pytest.mark.usefixtures("long_looks")
def test_a_node_that_is_gone_fails_all_who_wait_and_nobody_after(node: StubNode) -> None:
    def gone(call: Request) -> Any:
        raise NodeError("no node answers")

    async def crowd() -> list[Any]:
        followed = ChainFollower(node)
        node.answer = gone
        failed = await asyncio.gather(*(followed.batch([CALL]) for _ in range(5)), return_exceptions=True)
        node.answer = lambda call: "0x"
        return [*failed, await followed.batch([CALL])]

    *failed, answered = asyncio.run(crowd())
    assert [str(each) for each in failed] == ["no node answers"] * 5
    assert answered == ["0x"]


def test_kept_answers_are_bounded(node: StubNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(follower, "MAX_ANSWERS", 10)

    async def many() -> int:
        followed = ChainFollower(node)
        for number in range(100):
            await followed.batch([("eth_call", ({"to": hex(number)}, "0x1"))])
        return len(followed._kept)

    assert asyncio.run(many()) <= 13


@contextmanager
def serving(rpc: Rpc) -> Iterator[str]:
    """The URL of a follower of a node."""
    with FollowerServer({"live": ChainFollower(rpc)}) as server:
        thread = threading.Thread(target=server.serve)
        thread.start()
        try:
            yield server.urls["live"]
        finally:
            server.stop()
            thread.join()


def test_chains_are_read_and_written_through_it(anvil: Devnet) -> None:
    node = connect(anvil.url, anvil.chain_id)
    with serving(connect(anvil.url).rpc) as url:
        followed = Scene.on(connect(url), anvil.signer(0), Council.gathered(b"scene"))
        positions = append(followed, 3)
        redact(followed, positions[1:])
        assert versions(followed.live, positions) == [0, 1, 1]
        direct = replace(followed, node=node, sender=Sender(node, anvil.signer(0)))
        assert versions(direct.live, positions) == [0, 1, 1]
        assert followed.live.redactions() == direct.live.redactions() != ()
        assert followed.live.published() == direct.live.published()


def test_a_node_that_is_gone_is_said_by_its_name(node: StubNode, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(calls: Sequence[Request]) -> list[Any]:
        raise NodeError("no node answers at http://key-of-mine-0123456789abcdef0123@node.example: start it")

    monkeypatch.setattr(node, "batch", gone)
    with serving(node) as url:
        rpc = JsonRpc(url, patience=0.0)
        with pytest.raises(NodeError, match=r"no node answers at http://\*\*\*@node\.example"):
            rpc.call("eth_blockNumber")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"data": b"{}", "headers": {"content-type": "text/plain"}}, 415),
        ({"data": b"[" * 100_000, "headers": {"content-type": "application/json"}}, 400),
        ({"json": []}, 413),
        ({"json": [{"id": 1, "method": "eth_chainId"}] * 101}, 413),
        ({"json": {"method": "eth_chainId"}}, 400),
        ({"json": ["eth_chainId"]}, 400),
        ({"json": 5}, 400),
    ],
)
def test_what_is_no_question_is_refused(node: StubNode, sent: dict[str, Any], status: int) -> None:
    with serving(node) as url:
        assert requests.post(url, timeout=10, **sent).status_code == status
        assert requests.post(f"{url}/x", json={}, timeout=10).status_code == 404
        assert requests.post(url.replace("live", "dead"), json={}, timeout=10).status_code == 404
        assert not node.asked


def test_a_long_body_is_refused(node: StubNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower_server, "MAX_BODY", 1000)
    with serving(node) as url:
        assert requests.post(url, json={"id": "x" * 1000}, timeout=10).status_code == 400


def test_a_taken_port_is_said() -> None:
    with FollowerServer({}) as first, pytest.raises(UnreachableError, match="choose another --port"):
        FollowerServer({}, first._listening.getsockname()[1])
