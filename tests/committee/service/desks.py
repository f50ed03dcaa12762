# SPDX-License-Identifier: Apache-2.0
"""A service without signatures, and raw connections to its server."""

from __future__ import annotations

import socket
import threading
from dataclasses import dataclass, field

from blockful_py.committee.service.server import Server
from blockful_py.errors import MessageError, TooLongError

SECONDS = 600.0
LIMIT = 1 << 16


@dataclass(frozen=True)
class Ticket:
    """The sender in a line: `stranger`, or the name of a peer."""

    peer: bytes | None
    size: int
    bulk: bool = False
    is_paced: bool = False


@dataclass
class Desk:
    """Answers a body with the body twice; the body `wait` is answered once `let_go` is set."""

    let_go: threading.Event = field(default_factory=threading.Event)
    arrived: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    bodies: list[int] = field(default_factory=list)

    def admit(self, line: bytes, size: int) -> Ticket:
        name = line.removesuffix(b"\n")
        if name == b"nobody":
            raise MessageError("it is bad")
        if size > LIMIT:
            raise TooLongError("it is long")
        return Ticket(
            None if name == b"stranger" else name, size, name.startswith(b"bulk"), name.startswith(b"joined")
        )

    def answer(self, admitted: Ticket, body: bytes) -> bytes:
        self.bodies.append(len(body))
        if body == b"wait":
            self.arrived.release()
            assert self.let_go.wait(SECONDS)
        return b"answer\n" + body * 2

    def fetcher(self, line: bytes) -> bytes:
        if line == b"nobody\n":
            raise MessageError("it is bad")
        return line


def place(server: Server) -> tuple[str, int]:
    host, port = server.url.rpartition("/")[2].split(":")
    return host, int(port)


def request(message: bytes, length: int | None = None) -> bytes:
    """An HTTP request with a message; `length` is its declared length."""
    size = len(message) if length is None else length
    return b"POST /message HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size + message


def connected(server: Server, data: bytes = b"") -> socket.socket:
    """A connection on which `data` was sent."""
    opened = socket.create_connection(place(server), timeout=SECONDS)
    opened.sendall(data)
    return opened


def answer_on(opened: socket.socket) -> bytes:
    """The bytes that arrive until the server ends the connection."""
    found = b""
    try:
        while chunk := opened.recv(1 << 16):
            found += chunk
    except ConnectionError:
        pass
    return found


def raw(server: Server, data: bytes) -> bytes:
    """The answer to bytes on the wire."""
    with connected(server, data) as opened:
        return answer_on(opened)
