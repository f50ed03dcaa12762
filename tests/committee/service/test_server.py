# SPDX-License-Identifier: Apache-2.0
"""A member's HTTP: valid messages, connections of each peer, and the duration of each."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from blockful_py.committee.service import door
from blockful_py.committee.service.member_client import post
from blockful_py.committee.service.server import Server
from blockful_py.committee.wire import MAX_LINE
from blockful_py.crypto import curve
from blockful_py.crypto.tls import server_context
from blockful_py.errors import BusyError, MessageError, SettingsError, UnreachableError
from tests.committee.service.desks import LIMIT, SECONDS, Desk, answer_on, connected, raw, request


@pytest.fixture
def desk() -> Iterator[Desk]:
    found = Desk()
    yield found
    found.let_go.set()


@pytest.fixture
def server(desk: Desk) -> Iterator[Server]:
    with Server(desk) as started:
        yield started


def ask(server: Server, message: bytes) -> bytes:
    return post(server.url, message, SECONDS, lambda line: 1 << 20)


def test_a_message_is_handled(server: Server) -> None:
    assert ask(server, b"a\ntwice") == b"answer\ntwicetwice"


def test_a_refused_message_says_why(server: Server) -> None:
    with pytest.raises(MessageError, match="did not accept a message: it is bad"):
        ask(server, b"nobody\n")


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (request(b"a\n", LIMIT + 3), b"413"),
        (b"POST /message HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n", b"400"),
        (b"POST /message HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", b"400"),
        (b"POST /message HTTP/1.1\r\nHost: x\r\n\r\n", b"400"),
        (
            b"POST /message HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"400",
        ),
        (request(b"no line"), b"400"),
        (request(b"a" * MAX_LINE + b"\n"), b"400"),
        (request(b"a\n", 1), b"400"),
        (b"POST /other HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", b"404"),
        (b"GET /message HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", b"405"),
        (b"POST /message HTTP/1.1\r\n" + b"X: y\r\n" * 2000 + b"\r\n", b"400"),
        (b"GET " + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", b"400"),
        (b"\0\1\2\3\r\n\r\n", b"400"),
    ],
)
def test_what_is_no_message_is_refused_and_the_next_one_is_served(
    server: Server, monkeypatch: pytest.MonkeyPatch, request_: bytes, status: bytes
) -> None:
    assert status in raw(server, request_)[:400]
    assert ask(server, b"a\nx") == b"answer\nxx"


def test_a_message_that_breaks_off_is_nobodys_loss(server: Server, desk: Desk) -> None:
    with connected(server, request(b"a\nhalf", 100)) as opened:
        opened.shutdown(socket.SHUT_WR)
        answer_on(opened)
    assert ask(server, b"a\nx") == b"answer\nxx"
    assert desk.bodies == [1]


def test_a_peer_has_its_slots_and_no_more(server: Server, desk: Desk) -> None:
    with ExitStack() as stack:
        for _ in range(door.PEER_SLOTS):
            stack.enter_context(connected(server, request(b"a\nwait")))
            assert desk.arrived.acquire(timeout=SECONDS)
        with pytest.raises(BusyError, match="maximum number of questions from you"):
            ask(server, b"a\nx")
        assert b"retry-after: 1" in raw(server, request(b"a\nx"))
        assert ask(server, b"b\nx") == b"answer\nxx"


def test_a_participant_may_send_so_many_bytes_at_once_and_is_slowed_down_then(
    server: Server, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: one joined account kept a member's processor busy with messages of the largest size."""
    monkeypatch.setattr(door, "ASKED_RATE", 0.001)
    monkeypatch.setattr(door, "ASKED_AT_ONCE", 10)
    monkeypatch.setattr(door, "PACE_SECONDS", 0.05)
    body = b"x" * 10
    for _ in range(2):
        assert ask(server, b"a\n" + body) == b"answer\n" + 2 * body
    assert ask(server, b"joined\n" + body) == b"answer\n" + 2 * body
    assert ask(server, b"joined\nx") == b"answer\nxx"
    with pytest.raises(BusyError, match=r"0\.001 bytes a second from you"):
        ask(server, b"joined\n" + body)
    assert ask(server, b"joined-too\n" + body) == b"answer\n" + 2 * body


def test_strangers_do_not_take_the_slots_of_members(server: Server, desk: Desk) -> None:
    with ExitStack() as stack:
        for _ in range(door.STRANGER_SLOTS):
            stack.enter_context(connected(server, request(b"stranger\nwait")))
            assert desk.arrived.acquire(timeout=SECONDS)
        assert b"503" in raw(server, request(b"stranger\nx"))[:20]
        assert ask(server, b"a\nx") == b"answer\nxx"


def test_a_slot_is_free_again_once_its_connection_and_its_work_are_over(server: Server, desk: Desk) -> None:
    for _ in range(door.STRANGER_SLOTS):
        connected(server, request(b"stranger\nwait")).close()
        assert desk.arrived.acquire(timeout=SECONDS)
    assert b"503" in raw(server, request(b"stranger\nx"))[:20]
    desk.let_go.set()
    while b"503" in raw(server, request(b"stranger\nx"))[:20]:
        pass


def test_partial_headers_are_left_at_the_deadline(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "WAITING_SECONDS", 0.05)
    for part in (b"", b"POST /mess", b"POST /message HTTP/1.1\r\nHost:", request(b"a", 100)):
        assert raw(server, part) == b""


def test_a_partial_body_is_left_at_the_deadline(
    server: Server, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "BODY_SECONDS", 0.05)
    assert raw(server, request(b"a\nhalf", 100)) == b""
    assert desk.bodies == []


def test_a_slow_reader_is_left_at_the_deadline(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unread answers end with their connections, which free their slots."""
    monkeypatch.setattr(door, "ANSWER_SECONDS", 0.05)
    monkeypatch.setattr(Desk, "answer", lambda *_: b"answer\n" + bytes(1 << 25))
    with ExitStack() as stack:
        for _ in range(door.PEER_SLOTS):
            stack.enter_context(connected(server, request(b"a\nx")))
        while b"503" in (answer := raw(server, request(b"a\nx")))[:20]:
            pass
    assert b"200" in answer[:20]


def test_only_loopback_without_tls() -> None:
    with pytest.raises(SettingsError, match=r"0\.0\.0\.0 is outside the loopback interface.*use TLS"):
        Server(Desk(), host="0.0.0.0")  # noqa: S104
    with pytest.raises(SettingsError, match="is not an IP address"):
        Server(Desk(), host="localhost")
    Server(Desk(), host="0.0.0.0", tls=server_context(7)).close()  # noqa: S104
    Server(Desk(), host="::1").close()


def test_a_taken_port_is_named(server: Server) -> None:
    port = int(server.url.rpartition(":")[2])
    with pytest.raises(UnreachableError, match="choose another port"):
        Server(Desk(), port=port)


def test_a_closed_server_leaves_its_port_and_its_connections() -> None:
    with Server(Desk()) as started:
        opened = connected(started, b"POST")
        port = int(started.url.rpartition(":")[2])
    with closing(opened):
        assert answer_on(opened) == b""
    Server(Desk(), port=port).close()


def test_tls_is_served_to_those_who_know_the_voting_key(desk: Desk) -> None:
    voter = curve.address(curve.multiply_base(7))
    with Server(desk, tls=server_context(7)) as started:
        assert started.url.startswith("https://127.0.0.1:")
        assert post(started.url, b"a\nx", SECONDS, lambda line: 9, voter) == b"answer\nxx"
        with pytest.raises(MessageError, match=f"bound to 0x{voter.hex()}, not to the member asked"):
            post(started.url, b"a\nsecret", SECONDS, lambda line: 9, bytes(20))
        with pytest.raises(UnreachableError):
            post(started.url.replace("https", "http"), b"a\nsecret", SECONDS, lambda line: 9)
    assert desk.bodies == [1]


def test_a_tls_handshake_that_stops_is_left_at_the_deadline(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "WAITING_SECONDS", 0.05)
    with Server(desk, tls=server_context(7)) as started, connected(started, b"\x16\x03\x01") as opened:
        assert answer_on(opened) == b""
