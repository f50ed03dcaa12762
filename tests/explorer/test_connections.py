# SPDX-License-Identifier: Apache-2.0
"""Connections that keep the server waiting end, and others are served meanwhile."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route

from blockful_py.explorer import connections, guard
from blockful_py.explorer.connections import BrowserServer
from blockful_py.explorer.guard import Guard

SHORT = 0.3


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[BrowserServer]:
    monkeypatch.setattr(connections, "HEAD_SECONDS", SHORT)
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 5)
    monkeypatch.setattr(guard, "TAKE_SECONDS", SHORT)

    async def page(request: Request) -> PlainTextResponse:
        return PlainTextResponse("here")

    async def long(request: Request) -> StreamingResponse:
        async def pieces():  # type: ignore[no-untyped-def]
            for _ in range(400):
                yield bytes(1 << 16)

        return StreamingResponse(pieces())

    app = Guard(Starlette(routes=[Route("/", page), Route("/long", long)]))
    made = BrowserServer(app, "127.0.0.1", 0)
    app.allow([f"127.0.0.1:{made.port}"])
    thread = threading.Thread(target=made.serve, daemon=True)
    thread.start()
    yield made
    made.stop()
    thread.join()


def opened(server: BrowserServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=60)


def asked(server: BrowserServer, path: str = "/") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode()


def is_served(server: BrowserServer) -> bool:
    with opened(server) as connection:
        connection.sendall(asked(server))
        return b"200 OK" in connection.recv(100)


def test_a_request_that_never_comes_ends_its_connection(server: BrowserServer) -> None:
    with opened(server) as connection:
        assert is_served(server)
        assert ended(connection)


def test_a_request_that_is_dripped_ends_its_connection(server: BrowserServer) -> None:
    with opened(server) as connection:
        connection.sendall(asked(server)[:-2])
        assert ended(connection)


def test_a_second_request_has_no_more_time_than_the_first(server: BrowserServer) -> None:
    with opened(server) as connection:
        connection.sendall(asked(server))
        answer = b""
        while not answer.endswith(b"here"):
            answer += connection.recv(4096)
        connection.sendall(b"GET / HTTP/1.1\r\nX: ")
        assert ended(connection)


def test_an_answer_that_is_not_taken_ends_its_connection(server: BrowserServer) -> None:
    with opened(server) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(asked(server, "/long"))
        closed = threading.Event()
        while not closed.wait(SHORT):
            try:
                connection.sendall(b"\r\n")
            except OSError:
                closed.set()
    assert is_served(server)


def test_too_many_waiting_connections_end_the_oldest(server: BrowserServer) -> None:
    waiting = [opened(server) for _ in range(5)]
    assert is_served(server)
    assert ended(waiting[0])
    for each in waiting:
        each.close()


def test_headers_without_end_are_refused(server: BrowserServer) -> None:
    with opened(server) as connection:
        try:
            connection.sendall(asked(server)[:-2] + b"X: " + b"x" * (1 << 20))
        except OSError:
            return
        assert b"400" in connection.recv(100)


def ended(connection: socket.socket) -> bool:
    """Whether the server ends the connection, which is waited for."""
    try:
        return connection.recv(100) == b""
    except ConnectionResetError:
        return True
