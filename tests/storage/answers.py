# SPDX-License-Identifier: Apache-2.0
"""A server that answers a store as no IPFS node should."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

VERSION = {"Version": "0.29.0", "Golang": "go1.22"}


class Liar(ThreadingHTTPServer):
    """Answers each path of the API with its bytes in `answers`, or with 404.

    `sent`: bytes of sent bodies.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[str, bytes | Iterator[bytes]] = {"version": json.dumps(VERSION).encode()}
        self.status = 200
        self.sent = 0

    @property
    def api(self) -> str:
        return f"/ip4/127.0.0.1/tcp/{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Liar

    def do_POST(self) -> None:
        self._drain()
        answer = self.server.answers.get(self.path.split("?")[0].removeprefix("/api/v0/"))
        self.send_response(404 if answer is None else self.server.status)
        self.end_headers()
        for piece in (answer,) if isinstance(answer, bytes) else answer or ():
            with suppress(OSError):
                self.wfile.write(piece)
                self.server.sent += len(piece)
                continue
            return

    def _drain(self) -> None:
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                self.rfile.read(size + 2)
            self.rfile.readline()

    def log_message(self, *_arguments: object) -> None:
        pass


@contextmanager
def lying() -> Iterator[Liar]:
    with Liar() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
