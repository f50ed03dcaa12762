# SPDX-License-Identifier: Apache-2.0
"""Bounds on what a stranger can send, and on how long a stranger is waited for."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from blockful_py.committee.service.client import post
from blockful_py.committee.service.server import Server
from blockful_py.committee.wire import MAX_MESSAGE
from blockful_py.errors import MessageError, SettingsError, UnreachableError

SECONDS = 600.0


@pytest.fixture
def server() -> Iterator[Server]:
    """Answers with what was sent, twice; refuses `bad`."""

    def handle(data: bytes) -> bytes:
        if data == b"bad":
            raise MessageError("it is bad")
        return data * 2

    with Server(handle) as started:
        yield started


def raw(server: Server, request: bytes) -> bytes:
    """What comes back for bytes on the wire."""
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=SECONDS) as connected:
        connected.sendall(request)
        connected.shutdown(socket.SHUT_WR)
        return connected.makefile("rb").read()


def test_a_message_is_handled(server: Server) -> None:
    assert post(server.url, b"twice", 20) == b"twicetwice"


def test_a_refused_message_says_why(server: Server) -> None:
    with pytest.raises(MessageError, match="did not accept a message: it is bad"):
        post(server.url, b"bad", 20)


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"POST /message HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % (MAX_MESSAGE + 1), b"413"),
        (b"POST /message HTTP/1.0\r\nContent-Length: 99999999999999999999\r\n\r\n", b"411"),
        (b"POST /message HTTP/1.0\r\nContent-Length: -1\r\n\r\n", b"411"),
        (b"POST /message HTTP/1.0\r\n\r\n", b"411"),
        (b"POST /other HTTP/1.0\r\nContent-Length: 0\r\n\r\n", b"404"),
        (b"GET /message HTTP/1.0\r\n\r\n", b"501"),
        (b"POST /message HTTP/1.0\r\n" + b"X: y\r\n" * 200 + b"\r\n", b"431"),
        (b"GET " + b"x" * 70_000 + b" HTTP/1.0\r\n\r\n", b"414"),
        (b"\0\1\2\3\r\n\r\n", b"400"),
    ],
)
def test_what_is_no_message_is_refused_and_the_next_one_is_served(
    server: Server, request_: bytes, status: bytes
) -> None:
    assert status in raw(server, request_)[:400]
    assert post(server.url, b"x", SECONDS) == b"xx"


def test_a_message_that_breaks_off_is_nobodys_loss(server: Server) -> None:
    raw(server, b"POST /message HTTP/1.0\r\nContent-Length: 100\r\n\r\nhalf")
    assert post(server.url, b"x", SECONDS) == b"xx"


def test_a_server_that_never_answers_is_left_at_the_deadline() -> None:
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as silent,
        pytest.raises(UnreachableError, match=r"did not answer within 0\.2 s"),
    ):
        post(f"http://127.0.0.1:{silent.getsockname()[1]}", b"x", 0.2)


def test_a_server_that_trickles_is_left_at_the_deadline() -> None:
    left = threading.Event()

    def trickle(listening: socket.socket) -> None:
        connected, _ = listening.accept()
        with connected:
            while not left.wait(0.02):
                try:
                    connected.sendall(b"H")
                except OSError:
                    return

    with closing(socket.create_server(("127.0.0.1", 0))) as slow:
        trickling = threading.Thread(target=trickle, args=(slow,))
        trickling.start()
        with pytest.raises(UnreachableError, match=r"did not answer within 0\.3 s"):
            post(f"http://127.0.0.1:{slow.getsockname()[1]}", b"x", 0.3)
        left.set()
        trickling.join()


def test_nobody_there_is_one_error() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as gone:
        port = gone.getsockname()[1]
    with pytest.raises(UnreachableError, match=f"no member answers at http://127.0.0.1:{port}"):
        post(f"http://127.0.0.1:{port}", b"x", SECONDS)


@pytest.mark.parametrize("url", ["", "ftp://x:1", "http://x", "http://x:99999", "http://x:1/path", "x:1"])
def test_what_is_no_url_is_named(url: str) -> None:
    with pytest.raises(SettingsError, match="is not a member's URL"):
        post(url, b"x", 1)


def test_only_loopback_unless_told() -> None:
    with pytest.raises(SettingsError, match=r"0\.0\.0\.0 is not of the loopback interface"):
        Server(bytes, host="0.0.0.0")  # noqa: S104
    with pytest.raises(SettingsError, match="is not an IP address"):
        Server(bytes, host="localhost")
    Server(bytes, host="0.0.0.0", everywhere=True).close()  # noqa: S104


def test_a_taken_port_is_named(server: Server) -> None:
    port = int(server.url.rpartition(":")[2])
    with pytest.raises(UnreachableError, match="choose another port"):
        Server(bytes, port=port)
