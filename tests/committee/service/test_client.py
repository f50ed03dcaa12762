# SPDX-License-Identifier: Apache-2.0
"""A client waits for a member until the deadline, and reads its answer within bounds."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import pytest

from blockful_py.committee.service import member_client
from blockful_py.committee.service.member_client import MAX_REASON, identify, post
from blockful_py.committee.wire import MAX_LINE
from blockful_py.errors import BusyError, MessageError, SettingsError, TooLongError, UnreachableError
from tests.committee.service.dealers import LEADER, party
from tests.committee.service.desks import SECONDS


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """The URL of a server that sends these bytes to every client, and keeps listening to it."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:

        def serve() -> None:
            opened, _ = listening.accept()
            with opened, suppress(ConnectionError):
                opened.recv(1 << 16)
                opened.sendall(answer)
                opened.recv(1 << 16)

        serving = threading.Thread(target=serve)
        serving.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        serving.join(SECONDS)


def http(status: int, body: bytes) -> bytes:
    return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n" % (status, len(body)) + body


def ask(url: str, seconds: float = SECONDS, limit: int = 9) -> bytes:
    return post(url, b"x", seconds, lambda line: limit)


def test_an_answer_of_the_allowed_length_is_whole() -> None:
    with answering(http(200, b"line\n" + bytes(9))) as url:
        assert ask(url) == b"line\n" + bytes(9)


@pytest.mark.parametrize(
    ("answer", "error", "said"),
    [
        (http(200, b"line\n" + bytes(10)), TooLongError, "answers more than 14 bytes"),
        (http(200, bytes(MAX_LINE)), MessageError, "does not begin with a line"),
        (http(400, b"it is bad"), MessageError, "did not accept a message: it is bad"),
        (http(400, b"x" * 100 * MAX_REASON), MessageError, "did not accept a message: x{300}$"),
        (http(302, b"Location: http://127.0.0.1:1/"), MessageError, "did not accept"),
        (http(503, b"full"), BusyError, "is busy: full"),
        (b"nothing that is HTTP\r\n\r\n", UnreachableError, "no member answers"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000, UnreachableError, "no member answers"),
    ],
)
def test_an_answer_that_is_none_is_one_error(answer: bytes, error: type[Exception], said: str) -> None:
    with answering(answer) as url, pytest.raises(error, match=said):
        ask(url)


def test_a_server_that_never_answers_is_left_at_the_deadline() -> None:
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as silent,
        pytest.raises(UnreachableError, match=r"did not answer within 0\.2 s"),
    ):
        ask(f"http://127.0.0.1:{silent.getsockname()[1]}", 0.2)


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
            ask(f"http://127.0.0.1:{slow.getsockname()[1]}", 0.3)
        left.set()
        trickling.join()


def test_nobody_there_is_one_error() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as gone:
        port = gone.getsockname()[1]
    with pytest.raises(UnreachableError, match=f"no member answers at http://127.0.0.1:{port}"):
        ask(f"http://127.0.0.1:{port}")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://x:1",
        "http://x",
        "http://x:99999",
        "http://127.0.0.1:1/path",
        "x:1",
        "https://x",
        "https://x:1?q",
    ],
)
def test_what_is_no_url_is_named(url: str) -> None:
    with pytest.raises(SettingsError, match="is not a member's URL"):
        ask(url)


@pytest.mark.parametrize("url", ["http://192.0.2.1:7001", "http://member.example:7001"])
def test_a_member_elsewhere_is_not_asked_without_tls(url: str) -> None:
    with pytest.raises(SettingsError, match="beyond the loopback interface"):
        ask(url)


def test_a_busy_member_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(member_client, "RETRY_SECONDS", 0.01)
    real, asked = member_client.post, list[bytes]()

    def busy_at_first(url: str, data: bytes, *more: Any) -> bytes:
        asked.append(data)
        if len(asked) < 3:
            raise BusyError("later")
        return real(url, data, *more)

    monkeypatch.setattr(member_client, "post", busy_at_first)
    with party(1) as gathered:
        assert identify(gathered.servers[0].url, LEADER, SECONDS)[0] == gathered.clients[0].address
        assert len(set(asked)) == 3
        asked.clear()
        with pytest.raises(BusyError):
            identify(gathered.servers[0].url, LEADER, 0.005)
