# SPDX-License-Identifier: Apache-2.0
"""Checks every request before the explorer answers it, and sets headers on every answer.

Only reading, signing in and signing out are allowed, under the server's own names (no DNS rebinding), from
its own pages (no foreign origin), at a bounded rate per address.  The content security policy allows scripts
and styles only from the server's own files.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from blockful_py.explorer.connections import TAKE_SECONDS, BrowserConnection

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
WRITING = frozenset({"/api/sign-in", "/api/sign-out"})
"""Paths that accept POST only."""
MAX_TARGET = 4096
"""Maximum bytes of a path and its query."""
RATE = 200.0
BURST = 600.0
"""Requests per second of one address, and its burst size."""
ADDRESSES = 10_000
"""Maximum number of tracked addresses; the one seen longest ago is dropped."""


class Allowances:
    """A token bucket for each address."""

    def __init__(self, rate: float = RATE, burst: float = BURST) -> None:
        self._rate = rate
        self._burst = burst
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, address: str, now: float) -> bool:
        """Takes a token at time `now` (seconds); returns whether the address had one left."""
        left, since = self._left.pop(address, (self._burst, now))
        left = min(left + (now - since) * self._rate, self._burst)
        allowed = left >= 1
        self._left[address] = (left - 1 if allowed else left), now
        if len(self._left) > ADDRESSES:
            self._left.popitem(last=False)
        return allowed


class Guard:
    """ASGI middleware that checks requests."""

    def __init__(self, app: ASGIApp, allowances: Allowances | None = None) -> None:
        self._app = app
        self._hosts: frozenset[str] = frozenset()
        self._allowances = allowances or Allowances()

    def allow(self, hosts: Iterable[str]) -> None:
        """Sets the Host header values that are answered."""
        self._hosts = frozenset(each.lower() for each in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        if scope["type"] != "http":
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
            await _in_time(scope, send, message)

        refusal = self._refusal(scope)
        app = self._app if refusal is None else PlainTextResponse(refusal[1] + "\n", refusal[0])
        await app(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        client = scope.get("client")
        allowed = ("POST",) if scope["path"] in WRITING else ("GET", "HEAD")
        if scope["method"] not in allowed:
            return 405, "the explorer is read-only"
        if host not in self._hosts:
            return 421, "this server is not known by that name"
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > MAX_TARGET:
            return 414, "the address is too long"
        if _is_foreign(headers, host, scope["path"]):
            return 403, "only pages of this server may send requests"
        if not self._allowances.take(client[0] if client else "", time.monotonic()):
            return 429, "too many requests: wait a moment"
        return None


def _is_foreign(headers: Headers, host: str, path: str) -> bool:
    """Whether a page of another origin sent the request; links to pages are allowed."""
    origin = headers.get("origin")
    if origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}"):
        return True
    site = headers.get("sec-fetch-site", "none")
    is_link = headers.get("sec-fetch-mode") == "navigate" and not path.startswith("/api/")
    return site not in ("same-origin", "none") and not is_link


async def _in_time(scope: Scope, send: Send, message: Message) -> None:
    """Sends a piece of an answer; closes the connection if the peer does not accept it in time."""
    try:
        async with asyncio.timeout(TAKE_SECONDS):
            await send(message)
    except TimeoutError:
        connection = scope.get("state", {}).get("connection")
        if isinstance(connection, BrowserConnection):
            connection.hang_up()
        raise
