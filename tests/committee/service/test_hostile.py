# SPDX-License-Identifier: Apache-2.0
"""Liars, strangers and slow connections delay no honest member and fill nobody's memory."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from blockful_py.committee import codec, wire
from blockful_py.committee.polling import Refusal, at_once
from blockful_py.committee.service import door
from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.limits import MIB
from blockful_py.committee.service.member_client import IndexedClient, MemberClient, identify
from blockful_py.committee.service.messages import NOBODY, Empty
from blockful_py.committee.service.request_handler import RequestHandler
from blockful_py.committee.service.server import Server
from blockful_py.crypto import curve
from blockful_py.crypto.randomness import SeededRng
from blockful_py.errors import MessageError, TooLongError, UnreachableError
from blockful_py.storage import ContentStore, cid_string
from blockful_py.storage.gateway import gateway
from tests.committee.service.dealers import DOMAIN, LEADER, Hall, Party, party
from tests.committee.service.desks import SECONDS, answer_on, connected, raw, request

LARGE = 31 * MIB
STRANGER = wire.MessageSigner(curve.random_scalar(SeededRng(b"stranger")), DOMAIN)
CHUNK = bytes(1 << 16)


@pytest.fixture
def gathered() -> Iterator[Party]:
    with party(4) as found:
        yield found


@pytest.fixture
def server(gathered: Party) -> Server:
    return gathered.servers[0]


def is_served(server: Server) -> bool:
    """Whether the leader gets an answer."""
    address, _ = identify(server.url, LEADER, SECONDS)
    return address != NOBODY


def identification(signer: wire.MessageSigner) -> wire.Received:
    kind = MessageKind.IDENTIFY
    return signer.question(kind.label, 0, bytes(32), kind.round, NOBODY, codec.encode(Empty()))


@dataclass
class Liar:
    """A liar at a member's address; `sent` counts the bytes that clients took from it."""

    client: MemberClient
    signer: wire.MessageSigner
    let_go: threading.Event = field(default_factory=threading.Event)
    sent: int = 0


Answer = Callable[[Liar, wire.Signed], Iterator[bytes]]


@contextmanager
def liar(gathered: Party, answer: Answer) -> Iterator[Liar]:
    """Member 1, which sends the output of `answer` after the head of an HTTP response."""
    secret = curve.random_scalar(SeededRng(b"member", 1))
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        found = Liar(replace(gathered.clients[0], url=url), wire.MessageSigner(secret, DOMAIN))

        def serve() -> None:
            opened, _ = listening.accept()
            with opened:
                asked = opened.recv(1 << 16)
                while b"\r\n\r\n" not in asked or b"\n" not in asked.partition(b"\r\n\r\n")[2]:
                    asked += opened.recv(1 << 16)
                question = wire.open_line(DOMAIN, wire.first_line(asked.partition(b"\r\n\r\n")[2]))
                try:
                    opened.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % LARGE)
                    for part in answer(found, question):
                        opened.sendall(part)
                        found.sent += len(part)
                except ConnectionError:
                    pass

        lying = threading.Thread(target=serve)
        lying.start()
        try:
            yield found
        finally:
            found.let_go.set()
            lying.join(SECONDS)
            assert not lying.is_alive()


def signed(liar: Liar, question: wire.Signed) -> Iterator[bytes]:
    """31 MiB, signed by the member."""
    yield liar.signer.answer(question, wire.ANSWERED, b"").line
    yield from (CHUNK for _ in range(LARGE // len(CHUNK)))


def refused(liar: Liar, question: wire.Signed) -> Iterator[bytes]:
    yield liar.signer.answer(question, wire.REFUSED, b"").line
    yield from (CHUNK for _ in range(LARGE // len(CHUNK)))


def wrongly_signed(liar: Liar, question: wire.Signed) -> Iterator[bytes]:
    yield STRANGER.answer(question, wire.ANSWERED, b"").line
    yield from (CHUNK for _ in range(LARGE // len(CHUNK)))


def unsigned(liar: Liar, question: wire.Signed) -> Iterator[bytes]:
    yield from (CHUNK for _ in range(LARGE // len(CHUNK)))


def trickled(liar: Liar, question: wire.Signed) -> Iterator[bytes]:
    yield liar.signer.answer(question, wire.ANSWERED, b"").line
    while not liar.let_go.wait(0.01):
        yield b" "


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (signed, TooLongError),
        (refused, TooLongError),
        (wrongly_signed, MessageError),
        (unsigned, MessageError),
    ],
)
def test_an_oversized_answer_of_a_liar_is_left_unread(
    gathered: Party, answer: Answer, error: type[MessageError]
) -> None:
    with liar(gathered, answer) as found:
        with pytest.raises(error):
            found.client.ask(MessageKind.TELL_KEY, 1, bytes(32), Empty())
        found.let_go.set()
    assert found.sent < LARGE


@pytest.mark.parametrize("answer", [signed, unsigned, trickled])
def test_a_liars_answer_makes_no_honest_member_late(gathered: Party, answer: Answer) -> None:
    charter = gathered.charter(tuple(client.address for client in gathered.clients))
    with liar(gathered, answer) as found:
        places = [IndexedClient(1, found.client)]
        places += [IndexedClient(number, each) for number, each in enumerate(gathered.clients[1:], start=2)]

        def question(place: IndexedClient) -> wire.Received:
            return place.client.ask(MessageKind.KEY_COMMIT, 2, charter.digest(), charter)

        answers = at_once(places, question, 3)
    assert {index for index, each in answers.items() if isinstance(each, Refusal)} == {1}


def test_a_trickled_answer_ends_at_the_deadline(gathered: Party) -> None:
    with liar(gathered, trickled) as found, pytest.raises(UnreachableError, match="did not answer within"):
        replace(found.client, deadlines=replace(found.client.deadlines, round=0.3)).ask(
            MessageKind.TELL_KEY, 1, bytes(32), Empty()
        )


@pytest.mark.parametrize(
    "line", [identification(STRANGER).line, b"", b"[" * 100], ids=["signed", "none", "bad"]
)
def test_24_large_bodies_of_strangers_are_not_taken(
    gathered: Party, server: Server, monkeypatch: pytest.MonkeyPatch, line: bytes
) -> None:
    seen: list[int] = []
    monkeypatch.setattr(RequestHandler, "answer", lambda self, admitted, body: seen.append(len(body)))
    with ExitStack() as stack:
        for _ in range(24):
            opened = stack.enter_context(connected(server, request(line, LARGE)))
            sent = 0
            try:
                while sent < LARGE:
                    opened.sendall(CHUNK)
                    sent += len(CHUNK)
            except ConnectionError:
                pass
            assert sent < LARGE
        monkeypatch.undo()
        assert is_served(server)
    assert seen == []


def test_100_trickling_connections_do_not_shut_out_a_call(server: Server) -> None:
    """Connections stop after each kind of byte."""
    whole = request(identification(STRANGER).envelope)
    with ExitStack() as stack:
        for number in range(100):
            stack.enter_context(connected(server, whole[: 1 + number * 7]))
        assert is_served(server)
        for _ in range(3 * door.MAX_WAITING):
            stack.enter_context(connected(server, b"P"))
        assert is_served(server)


def test_trickling_bodies_of_strangers_take_no_slot_of_members(server: Server) -> None:
    with ExitStack() as stack:
        for _ in range(100):
            question = identification(STRANGER)
            stack.enter_context(connected(server, request(question.line + b"{", len(question.envelope))))
        assert is_served(server)


@pytest.mark.parametrize(
    "kind", [MessageKind.SIGN, MessageKind.KEY_COMMIT, MessageKind.KEEP_KEYS, MessageKind.LEND_KEYS]
)
def test_a_strangers_question_is_refused_before_its_body(
    gathered: Party, server: Server, kind: MessageKind
) -> None:
    to = gathered.clients[0].address
    question = STRANGER.question(kind.label, 1, bytes(32), kind.round, to, b"{}")
    assert b"neither a member of this committee nor a leader" in raw(server, request(question.line, 1000))


def test_unsigned_and_wrongly_signed_lines_are_refused_before_their_bodies(server: Server) -> None:
    line = identification(LEADER).line
    first = codec.decode(wire.FirstLine, line[:-1])
    forged = replace(first, header=replace(first.header, sender=STRANGER.address))
    for bad in (
        b"\n",
        b"{}\n",
        codec.encode(forged) + b"\n",
        codec.encode(replace(first, signature=b"")) + b"\n",
    ):
        assert b"HTTP/1.1 400" in raw(server, request(bad, 1000))
    assert is_served(server)


def test_another_body_than_the_signed_one_is_refused(server: Server) -> None:
    line = identification(LEADER).line
    assert b"not the one that its sender signed" in raw(server, request(line + b"[]"))


def test_replays_are_refused_and_take_no_slot_of_their_sender(server: Server) -> None:
    question = identification(LEADER)
    assert b"HTTP/1.1 200" in raw(server, request(question.envelope))
    with ExitStack() as stack:
        for _ in range(2 * door.PEER_SLOTS):
            stack.enter_context(connected(server, request(question.line + b"{", len(question.envelope))))
        assert b"asked this question before" in raw(server, request(question.envelope))
        assert is_served(server)


def test_a_body_that_is_longer_than_its_kind_can_be_is_refused_before_it_is_read(
    gathered: Party, server: Server
) -> None:
    to = gathered.clients[0].address
    question = LEADER.question("tell-key", 1, bytes(32), 1, to, bytes(1000))
    assert b"HTTP/1.1 413" in raw(server, request(question.line, len(question.envelope)))


def test_answers_that_are_not_read_hold_up_nobody_else(server: Server) -> None:
    with ExitStack() as stack:
        for _ in range(door.PEER_SLOTS):
            stack.enter_context(connected(server, request(identification(STRANGER).envelope)))
        assert is_served(server)


def test_requests_for_blocks_do_not_shut_out_a_call(tmp_path: Path) -> None:
    """Whole, broken off and malformed requests whose answers nobody reads."""
    hall, store = Hall(), ContentStore(tmp_path)
    hall.gateway = gateway(store)
    name = cid_string(store.add_pieces([bytes([i]) * 2**20 for i in range(8)]))
    lines = [
        f"{path} HTTP/1.1\r\nHost: x\r\n".encode()
        for path in (
            f"GET /ipfs/{name}?format=car",
            f"HEAD /ipfs/{name}?format=car",
            "GET /ipfs/..%2f?format=raw",
            f"GET /ipfs/{name}/{'a/' * 2000}?format=raw",
            f"POST /ipfs/{name}?format=raw",
        )
    ]
    with party(1, hall=lambda index: hall) as gathered, ExitStack() as stack:
        (server,) = gathered.servers
        for _ in range(20):
            for line in lines:
                stack.enter_context(connected(server, line + b"\r\n"))
                stack.enter_context(connected(server, line + b"X: "))
            assert is_served(server)


def test_a_connection_that_is_pushed_out_is_the_oldest_of_the_crowd(server: Server) -> None:
    with connected(server, b"P") as oldest, ExitStack() as stack:
        for _ in range(door.MAX_WAITING):
            stack.enter_context(connected(server, b"P"))
        assert answer_on(oldest) == b""
