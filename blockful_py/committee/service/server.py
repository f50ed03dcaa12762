# SPDX-License-Identifier: Apache-2.0
"""A small HTTP server: passes the body of a POST to /message to `handle` and returns its answer.

It listens on the loopback interface by default.  HTTP only carries the messages, which have signatures of
their own, with bounds on size, time and connections.
"""

from __future__ import annotations

import ipaddress
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import socket
from typing import Any, Self

from blockful_py.closable import Closable
from blockful_py.committee.wire import MAX_MESSAGE
from blockful_py.errors import MessageError, SettingsError, UnreachableError

PATH = "/message"
IDLE_SECONDS = 30.0
"""Maximum wait for the next bytes of a connection."""
MAX_CONNECTIONS = 32
POLL_SECONDS = 0.05
"""Interval at which the server checks whether to close."""

Handle = Callable[[bytes], bytes]


class Server(Closable):
    """Listens from construction on, serves between `start` and `close`."""

    def __init__(self, handle: Handle, host: str = "127.0.0.1", port: int = 0, everywhere: bool = False):
        """`port` 0 takes a free one; `everywhere` allows other interfaces than loopback.

        Raises:
            SettingsError: the host is no address, or not of the loopback interface.
            UnreachableError: the port is taken.
        """
        _require_loopback(host, everywhere)
        try:
            self._server = _Bounded((host, port), handle)
        except OSError as error:
            raise UnreachableError(
                f"{host}:{port} cannot be listened on ({error.strerror}): choose another port."
            ) from None
        self._thread = threading.Thread(target=self._server.serve_forever, args=(POLL_SECONDS,), daemon=True)

    @property
    def url(self) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stops serving and gives the port back."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        self.start()
        return self


class _Bounded(ThreadingHTTPServer):
    """Closes connections beyond MAX_CONNECTIONS at once."""

    daemon_threads = True
    request_queue_size = MAX_CONNECTIONS

    def __init__(self, place: tuple[str, int], handle: Handle) -> None:
        self._free = threading.BoundedSemaphore(MAX_CONNECTIONS)
        self.answer = handle
        super().__init__(place, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: socket | tuple[bytes, socket], client_address: Any) -> None:
        """Ignores peers that close their connection."""


class _Handler(BaseHTTPRequestHandler):
    server: _Bounded
    protocol_version = "HTTP/1.0"
    timeout = IDLE_SECONDS

    def do_POST(self) -> None:
        if self.path != PATH:
            self._send(404, f"messages go to {PATH}".encode())
            return
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal() and len(length) < 12):
            self._send(411, b"say how long the message is")
            return
        if int(length) > MAX_MESSAGE:
            self._send(413, f"a message has at most {MAX_MESSAGE} bytes".encode())
            return
        data = self.rfile.read(int(length))
        try:
            self._send(200, self.server.answer(data))
        except MessageError as error:
            self._send(400, str(error).encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json" if status == 200 else "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def version_string(self) -> str:
        return "blockful"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Logs nothing: the messages say who asked what."""


def _require_loopback(host: str, everywhere: bool) -> None:
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise SettingsError(f"{host!r} is not an IP address such as 127.0.0.1.") from None
    if not (loopback or everywhere):
        raise SettingsError(
            f"{host} is not of the loopback interface: messages are signed, but most are not encrypted. "
            "Listen on 127.0.0.1 behind a tunnel, or say that other interfaces are meant."
        )
