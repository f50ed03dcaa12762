# SPDX-License-Identifier: Apache-2.0
"""Serves a member over HTTP: `POST /message` for signed messages, and blocks below `/ipfs/`.

Cheap checks come first: the declared length, the signed first line, the sender, the allowed size of the body.
Only then is the body read, within a memory budget for all bodies.  `door` limits connections and their time.
Outside the loopback interface a member only speaks TLS.  A participant without a seat serves only blocks.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import re
import socket
import ssl
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, Self, TypeVar

from prometheus_client import CollectorRegistry
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from blockful_py.closable import Closable
from blockful_py.committee.service import door
from blockful_py.committee.service.bodies import BodyStream, ByteBudget, in_thread
from blockful_py.committee.service.door import WAITING_SECONDS, Door, Guest, Pace, address_of
from blockful_py.committee.service.limits import RETRY_SECONDS
from blockful_py.committee.wire import PATH, SCHEME
from blockful_py.errors import BusyError, MessageError, SettingsError, TooLongError, UnreachableError
from blockful_py.monitoring import health
from blockful_py.monitoring.health import Health
from blockful_py.monitoring.request_id import RequestIds
from blockful_py.monitoring.traffic import HttpTraffic
from blockful_py.storage.gateway import PREFIX
from blockful_py.types import Address

MAX_HTTP_HEADERS = 8 * 1024
BODIES = 4 * 1024 * 1024
"""Maximum bytes of bodies being read or handled; parsed, they take up to 9 times as much memory."""
BULK_BODIES = 8 * 1024 * 1024
"""Maximum bytes of bodies of pushed blocks being read or handled."""
SMALL_BODY = 16 * 1024
"""Maximum bytes of a body without a share of the budget; slots limit the number of such bodies."""
BACKLOG = 128
PAUSE_SECONDS = 0.1
"""Wait before accepting the next connection when the process can open no more files."""


class Asker(Protocol):
    """An admitted question; `peer` is the key of a member or leader, None for strangers.

    The bodies of `bulk` questions have a separate budget; `is_paced` limits the sender's rate of bytes.
    """

    @property
    def peer(self) -> Address | None: ...

    @property
    def bulk(self) -> bool: ...

    @property
    def is_paced(self) -> bool: ...


Admitted = TypeVar("Admitted", bound=Asker)

Around = Callable[[ASGIApp], ASGIApp]
"""Middleware."""


def counted(registry: CollectorRegistry) -> Around:
    """Middleware that sets request ids and counts requests."""
    traffic = HttpTraffic(registry, _resource)
    return lambda app: RequestIds(traffic.around(app))


class Service(Protocol[Admitted]):
    """Answers questions; its methods block and are called on threads."""

    def admit(self, line: bytes, size: int) -> Admitted:
        """Admits a question by its first line, for a body of `size` bytes.

        Raises TooLongError when the body is too long, MessageError for any other reason.
        """

    def answer(self, admitted: Admitted, body: bytes) -> bytes:
        """The answer. Raises MessageError."""

    def fetcher(self, line: bytes) -> bytes:
        """The key of the member or leader that signed a request for blocks. Raises MessageError."""


class Server(Closable):
    """Listens from its construction, serves between `start` and `close`."""

    def __init__(
        self,
        service: Service[Any] | None,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
        gateway: ASGIApp | None = None,
        state: Health | None = None,
        around: Around = RequestIds,
    ) -> None:
        """Listens on a port; 0 takes a free one.  Without `tls`, only the loopback interface is allowed.

        `service` answers messages, `gateway` serves blocks (`storage.gateway`); None disables either.
        `state` reports the health to anybody.  `around` is middleware for all requests.

        Raises:
            SettingsError: the host is not an IP address, or is outside the loopback interface without `tls`.
            UnreachableError: the port is taken.
        """
        if not (is_loopback(host) or tls):
            raise SettingsError(f"{host} is outside the loopback interface: use TLS there.")
        self._listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        try:
            self._listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._listening.bind((host, port))
            self._listening.listen(BACKLOG)
            self._listening.setblocking(False)
        except OSError as error:
            self._listening.close()
            raise UnreachableError(
                f"{host}:{port} cannot be listened on ({error.strerror}): choose another port."
            ) from None
        self._reception = partial(_Reception, service, gateway, state, around, tls)
        self._tls = tls
        self._ready = threading.Event()
        self._stop: Callable[[], object] = lambda: None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    @property
    def url(self) -> str:
        host, port = self._listening.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        return f"{'https' if self._tls else 'http'}://{shown}:{port}"

    def start(self) -> None:
        self._thread.start()
        self._ready.wait()

    def close(self) -> None:
        """Stops serving and releases the port; pending questions get no answer."""
        if self._thread.is_alive():
            self._stop()
            self._thread.join()
        self._listening.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    async def _serve(self) -> None:
        loop, stopped = asyncio.get_running_loop(), asyncio.Event()
        reception = self._reception()
        self._accept_on(loop, reception)
        self._stop = lambda: loop.call_soon_threadsafe(stopped.set)
        self._ready.set()
        await stopped.wait()
        loop.remove_reader(self._listening)
        await reception.close()

    def _accept_on(self, loop: asyncio.AbstractEventLoop, reception: _Reception) -> None:
        def accept() -> None:
            try:
                connection, address = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:
                loop.remove_reader(self._listening)
                loop.call_later(PAUSE_SECONDS, self._accept_on, loop, reception)
                return
            reception.receive(connection, address_of(address[0]))

        if self._listening.fileno() >= 0:
            loop.add_reader(self._listening, accept)


class _Reception:
    """Passes accepted connections to HTTP, their questions to a service, requests for blocks to a gateway."""

    def __init__(
        self,
        service: Service[Any] | None,
        gateway: ASGIApp | None,
        state: Health | None,
        around: Around,
        tls: ssl.SSLContext | None,
    ) -> None:
        self._tls = tls
        self._door = Door()
        self._bodies = ByteBudget(BODIES)
        self._bulk = ByteBudget(BULK_BODIES)
        self._state = ServerState()
        self._starting: set[asyncio.Task[None]] = set()
        routes: list[BaseRoute] = []
        if service is not None:
            routes.append(Route(PATH, partial(self._message, service), methods=["POST"]))
        if gateway is not None:
            routes.append(Route(PREFIX + "{rest:path}", _Fetching(gateway, service, self._door)))
        if state is not None:
            routes.append(Route(health.PATH, _Fetching(health.bare(state), None, self._door)))
        self._config = Config(
            around(Router(routes, redirect_slashes=False)),
            log_config=None,
            log_level="critical",
            access_log=False,
            lifespan="off",
            ws="none",
            timeout_keep_alive=0,
            h11_max_incomplete_event_size=MAX_HTTP_HEADERS,
        )

    def receive(self, connection: socket.socket, address: str) -> None:
        """Starts a connection."""
        connection.setblocking(False)
        guest = Guest(connection, address, asyncio.get_running_loop())
        self._door.enter(guest)
        task = asyncio.create_task(self._begin(connection, guest))
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _begin(self, connection: socket.socket, guest: Guest) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: _Connection(self._config, self._state, guest, self._door),
                connection,
                ssl=self._tls,
                ssl_handshake_timeout=None if self._tls is None else WAITING_SECONDS,
            )
        except OSError:  # the TLS handshake failed, or the peer is gone
            connection.close()
            self._door.leave(guest)

    async def close(self) -> None:
        """Ends all connections."""
        self._door.close()
        await asyncio.gather(*self._starting)
        while self._state.connections:
            for each in [*self._state.connections]:
                each.transport.abort()
            await asyncio.sleep(0)

    async def _message(self, service: Service[Any], request: Request) -> Response:
        try:
            answer = await self._answer(service, request)
        except BusyError as error:
            return _busy(error)
        except TooLongError as error:
            return _refusal(413, error)
        except MessageError as error:
            return _refusal(400, error)
        except ClientDisconnect:
            return Response(status_code=400)
        return Response(answer, media_type="application/json", headers=_CLOSE)

    async def _answer(self, service: Service[Any], request: Request) -> bytes:
        length = _length(request)
        stream = BodyStream(request.stream())
        line = await stream.line()
        size = length - len(line)
        if size < 0:
            raise MessageError("a message is longer than declared.")
        admitted = await in_thread(service.admit, line, size)
        guest: Guest = request.state.guest
        with self._door.slot(guest, admitted.peer):
            if admitted.is_paced:
                await self._door.pace(admitted.peer, size)
            free = size <= SMALL_BODY
            budget = self._bulk if admitted.bulk else self._bodies
            async with contextlib.nullcontext() if free else budget.hold(size, admitted.peer):
                body = await stream.rest(size)
                guest.within(None)
                return await in_thread(service.answer, admitted, body)


class _Fetching:
    """Passes requests for blocks to the gateway; the peer must take each piece of an answer in time.

    A request signed by a member or leader (`wire.SCHEME`) uses neither slots nor rate of strangers.
    """

    def __init__(self, gateway: ASGIApp, service: Service[Any] | None, entrance: Door) -> None:
        self._gateway = gateway
        self._service = service
        self._entrance = entrance
        self._pace = Pace(door.FETCHED_RATE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        guest: Guest = scope["state"]["guest"]
        peer = await self._peer(Headers(scope=scope).get("authorization"))

        async def send_in_time(message: Message) -> None:
            if peer is None:
                size, now = len(message.get("body", b"")), asyncio.get_running_loop().time()
                await asyncio.sleep(self._pace.delay(size, now))
            guest.within(door.ANSWER_SECONDS)
            await send(message)

        try:
            with self._entrance.fetching(guest, peer):
                await self._gateway(scope, receive, send_in_time)
        except BusyError as error:
            await _busy(error)(scope, receive, send)

    async def _peer(self, authorization: str | None) -> bytes | None:
        """The member or leader that signed a request; None for strangers."""
        if authorization is None or self._service is None:
            return None
        line = authorization.removeprefix(SCHEME).encode("latin-1") + b"\n"
        try:
            return await in_thread(self._service.fetcher, line)
        except MessageError:
            return None


class _Connection(H11Protocol):
    """HTTP on one connection of a guest."""

    def __init__(self, config: Config, state: ServerState, guest: Guest, door: Door) -> None:
        super().__init__(config, state, {"guest": guest})
        self._guest = guest
        self._door = door

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._guest.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._door.leave(self._guest)


def _resource(scope: Scope) -> str:
    path = scope["path"]
    if path.startswith(PREFIX):
        return "blocks"
    return {PATH: "messages", health.PATH: "health"}.get(path, "other")


_CLOSE = {"connection": "close"}


def _refusal(status: int, error: Exception, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(str(error), status, _CLOSE | (headers or {}))


def _busy(error: BusyError) -> Response:
    return _refusal(503, error, {"retry-after": str(RETRY_SECONDS)})


def _length(request: Request) -> int:
    """The declared length. Raises MessageError."""
    length = request.headers.get("content-length", "")
    if not re.fullmatch(r"[0-9]{1,12}", length):
        raise MessageError("a message needs a Content-Length, in digits.")
    return int(length)


def is_loopback(host: str) -> bool:
    """Whether an address is on the loopback interface.  Raises SettingsError when it is no IP address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise SettingsError(f"{host!r} is not an IP address such as 127.0.0.1.") from None
