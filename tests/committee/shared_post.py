# SPDX-License-Identifier: Apache-2.0
"""Members' protocols on shares in processes of their own, by sockets."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
from collections.abc import Callable, Mapping
from multiprocessing import get_context
from typing import Any

from blockful_py.committee.shared_rounds import Parties, SharedRounds
from blockful_py.committee.wire import domain
from blockful_py.crypto import curve
from blockful_py.crypto.sharing.rounds import Protocol

LIMIT = 1 << 24
SECRETS = {j: 1000 + j for j in range(1, 5)}
PARTIES = Parties(
    domain(31337, bytes(range(20))),
    1,
    b"s" * 32,
    {j: curve.multiply_base(each) for j, each in SECRETS.items()},
)
Work = Callable[[int], Protocol[Any]]


class SocketPost:
    """Messages by TCP, each a connection; all bytes that it sends are kept in `sent`."""

    def __init__(self, listener: socket.socket, ports: Mapping[int, int]) -> None:
        self._listener, self._ports = listener, ports
        self._inbox: queue.Queue[bytes] = queue.Queue()
        self.sent = bytearray()
        threading.Thread(target=self._serve, daemon=True).start()

    def send(self, member: int, *messages: bytes) -> None:
        for data in messages:
            self.sent += data
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", self._ports[member]), 30) as s,
            ):
                s.sendall(data)

    def receive(self, seconds: float) -> bytes | None:
        with contextlib.suppress(queue.Empty):
            return self._inbox.get(timeout=seconds)
        return None

    def _serve(self) -> None:
        while True:
            with contextlib.suppress(OSError):
                connection, _ = self._listener.accept()
                with connection, connection.makefile("rb") as stream:
                    self._inbox.put(stream.read(LIMIT + 1))


def run_processes(
    work: Work, sides: Mapping[int, type[SharedRounds]], patience: float = 60
) -> dict[int, tuple[Any, bytes]]:
    """Of each member in `sides`: its result, or its error, and all bytes that it sent.

    Other members are absent; each is given as the class of its side.
    """
    context = get_context("fork")
    listeners = {j: socket.create_server(("127.0.0.1", 0)) for j in SECRETS}
    ports = {j: each.getsockname()[1] for j, each in listeners.items()}
    for j in {*SECRETS} - {*sides}:
        listeners[j].close()
    results = context.SimpleQueue()

    def member(j: int) -> None:
        post = SocketPost(listeners[j], ports)
        side = sides[j](PARTIES, j, SECRETS[j], post, LIMIT, patience)
        found: Any
        try:
            found = side.run(work(j))
        except Exception as error:
            found = (type(error).__name__, getattr(error, "members", ()), str(error))
        results.put((j, found, bytes(post.sent)))

    started = [context.Process(target=member, args=(j,)) for j in sides]
    for each in started:
        each.start()
    for listener in listeners.values():
        listener.close()
    found = {j: (result, sent) for j, result, sent in (results.get() for _ in started)}
    for each in started:
        each.join()
    return found
