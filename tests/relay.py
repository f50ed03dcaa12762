# SPDX-License-Identifier: Apache-2.0
"""A relay in front of a node's URL, which can change questions and answers."""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from blockful_py.chain.node import connect
from blockful_py.chain.rpc import RpcError

Asked = list[dict[str, Any]]
"""The calls of an HTTP request."""


@dataclass(frozen=True)
class Reply:
    """An HTTP answer; one without a status closes the connection instead."""

    body: Any
    status: int | None = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class Relay(ABC):
    """A server in front of a node; subclasses determine its answers."""

    def __init__(self, url: str) -> None:
        self.node, lock, self._gone = connect(url), threading.Lock(), threading.Event()
        relay = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # bodies follow headers at once, not after 40 ms

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with lock:
                    gone = relay._gone.is_set()
                    reply = Reply(None, None) if gone else relay.reply(asked)
                if reply.status is None:
                    self.close_connection = True
                    return
                body = json.dumps(reply.body).encode()
                self.send_response(reply.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Drops log messages."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    @abstractmethod
    def reply(self, asked: Asked | dict[str, Any]) -> Reply: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the server; later clients find nobody."""
        self._gone.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self.node.close()


def answer(number: object, result: Any) -> dict[str, Any]:
    """An answer of JSON-RPC."""
    known = {"jsonrpc": "2.0", "id": number}
    if isinstance(result, RpcError):
        return {**known, "error": {"code": result.code, "message": result.message, "data": result.data}}
    return {**known, "result": result}
