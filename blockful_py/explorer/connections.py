# SPDX-License-Identifier: Apache-2.0
"""Bounds browser connections: their number, and how long each may keep the server waiting."""

from __future__ import annotations

import asyncio
import socket
from functools import partial
from typing import Any

from starlette.types import ASGIApp
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import Server as UvicornServer

from blockful_py.errors import UnreachableError

MAX_CONNECTIONS = 512
HEAD_SECONDS = 10.0
"""Seconds from a connection's start, or a request's first byte, until its headers are complete."""
IDLE_SECONDS = 15
"""Seconds between two requests of a connection."""
TAKE_SECONDS = 30.0
"""Seconds until the peer accepts a piece of an answer."""
MAX_HEAD_BYTES = 16 * 1024
BACKLOG = 256


class BrowserConnection(H11Protocol):
    """An HTTP connection that is closed if its peer is too slow.

    If there are too many connections, the one that has waited longest for its request is closed.
    """

    def __init__(
        self, waiting: dict[BrowserConnection, None], app_state: dict[str, Any], **options: Any
    ) -> None:
        """Handles a connection; `waiting` has the server's connections without headers, oldest first."""
        super().__init__(app_state={**app_state, "connection": self}, **options)
        self._deadline: asyncio.TimerHandle | None = None
        self._waiting = waiting

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > MAX_CONNECTIONS:
            next(iter(self._waiting)).hang_up()

    def data_received(self, data: bytes) -> None:
        if self._is_idle() and self._deadline is None:
            self._wait()
        super().data_received(data)
        if not self._is_idle():
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def hang_up(self) -> None:
        """Closes the connection at once and drops unsent parts of an answer."""
        self._stop_waiting()
        self.transport.abort()

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        self._waiting[self] = None
        self._deadline = self.loop.call_later(HEAD_SECONDS, self.hang_up)

    def _stop_waiting(self) -> None:
        self._waiting.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class BrowserServer:
    """An HTTP server that listens from its construction on and serves until it is stopped."""

    def __init__(self, app: ASGIApp, host: str, port: int) -> None:
        """Listens on `port`, or on a free one if it is 0.  Raises UnreachableError if it is taken."""
        self._listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        try:
            self._listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._listening.bind((host, port))
            self._listening.listen(BACKLOG)
        except OSError as error:
            self._listening.close()
            raise UnreachableError(
                f"{host}:{port} cannot be listened on ({error.strerror}): choose another --port."
            ) from None
        self._server = UvicornServer(
            Config(
                app,
                http=partial(BrowserConnection, {}),  # type: ignore[arg-type]
                loop="asyncio",
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="critical",
                access_log=False,
                server_header=False,
                timeout_keep_alive=IDLE_SECONDS,
                timeout_graceful_shutdown=1,
                h11_max_incomplete_event_size=MAX_HEAD_BYTES,
                proxy_headers=False,
            )
        )

    @property
    def port(self) -> int:
        port: int = self._listening.getsockname()[1]
        return port

    def serve(self) -> None:
        """Serves on this thread until a signal or `stop` ends it."""
        try:
            self._server.run(sockets=[self._listening])
        finally:
            self._listening.close()

    def stop(self) -> None:
        """Ends `serve` from another thread."""
        self._server.should_exit = True
