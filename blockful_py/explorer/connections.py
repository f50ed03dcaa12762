# SPDX-License-Identifier: Apache-2.0
"""Connections of browsers: how many there may be, and how long each may keep the server waiting."""

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
"""From a connection's start, or a request's first byte, until its headers are complete."""
IDLE_SECONDS = 15
"""Between two requests of a connection."""
TAKE_SECONDS = 30.0
"""Until a piece of an answer is taken."""
MAX_HEAD_BYTES = 16 * 1024
BACKLOG = 256


class BrowserConnection(H11Protocol):
    """HTTP on one connection that ends when its peer is too slow.

    Where there are too many, the one that has waited longest for its request ends.
    """

    def __init__(
        self, waiting: dict[BrowserConnection, None], app_state: dict[str, Any], **options: Any
    ) -> None:
        """`waiting`: connections of the server that wait for a request's headers, the oldest first."""
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
        """Ends the connection at once, with what was not taken of an answer."""
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
    """Listens from construction on, and serves until it is stopped."""

    def __init__(self, app: ASGIApp, host: str, port: int) -> None:
        """`port` 0 takes a free one.  Raises UnreachableError where it is taken."""
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
        """Serves on this thread until a signal, or `stop`, ends it."""
        try:
            self._server.run(sockets=[self._listening])
        finally:
            self._listening.close()

    def stop(self) -> None:
        """Ends `serve` from another thread."""
        self._server.should_exit = True
