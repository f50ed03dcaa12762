# SPDX-License-Identifier: Apache-2.0
"""Routes that sign an auditor in and out."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from blockful_py.explorer.parameters import BadParameterError, address_of
from blockful_py.explorer.sign_in import NONCE, SignIn
from blockful_py.record.fields import Part
from blockful_py.types import Address

SESSION_SECONDS = 1800
MAX_SESSIONS = 1000
"""Maximum number of sessions; a new one then replaces the oldest."""


@dataclass(frozen=True, slots=True)
class Session:
    """An auditor's account (20 bytes), and the time in seconds at which the session ends."""

    auditor: Address
    until: float


class Sessions:
    """Sessions by the digest of their cookie's token; thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._changing = threading.Lock()
        self._sessions: OrderedDict[bytes, Session] = OrderedDict()

    def begin(self, auditor: Address) -> str:
        """Begins a session; returns the token for the cookie."""
        token = secrets.token_urlsafe(32)
        with self._changing:
            self._sessions[_digest(token)] = Session(auditor, self._clock() + SESSION_SECONDS)
            while len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)
        return token

    def find(self, token: str) -> Session | None:
        """The session of a token, unless it has ended."""
        with self._changing:
            found = self._sessions.get(_digest(token))
            if found is not None and found.until <= self._clock():
                del self._sessions[_digest(token)]
                return None
            return found

    def end(self, token: str) -> None:
        with self._changing:
            self._sessions.pop(_digest(token), None)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


COOKIE = "blockful_session"
MAX_BODY = 1024
BODY_SECONDS = 10.0


class SignedMessage(Part):
    """Body of a sign-in request: identifies the message and has its signature."""

    address: Annotated[str, Field(pattern=r"^0x[0-9a-fA-F]{40}$")]
    issued: Annotated[int, Field(ge=0, lt=2**40)]
    nonce: Annotated[str, Field(pattern=rf"^[0-9a-f]{{{NONCE}}}$")]
    signature: Annotated[str, Field(pattern=r"^0x(?:[0-9a-fA-F]{128}|[0-9a-fA-F]{130})$")]


class SignInRoutes:
    """Sign-in routes; `origin` is the public address if a proxy publishes the page."""

    def __init__(self, sign_in: SignIn, origin: str | None) -> None:
        self._sign_in = sign_in
        self._sessions = Sessions()
        self._origin = None if origin is None else urlsplit(origin)

    def routes(self) -> list[Route]:
        return [
            Route("/api/session", self._session),
            Route("/api/sign-in/message", self._message),
            Route("/api/sign-in", self._signed, methods=["POST"]),
            Route("/api/sign-out", self._sign_out, methods=["POST"]),
        ]

    async def auditor(self, request: Request) -> bytes | None:
        """The auditor's account (20 bytes) of a request's session, if the registry still lists it.

        Raises NodeError.
        """
        found = self._found(request)
        if found is None:
            return None
        is_auditor = await run_in_threadpool(self._sign_in.is_auditor, found.auditor)
        return found.auditor if is_auditor else None

    def _found(self, request: Request) -> Session | None:
        token = request.cookies.get(COOKIE)
        return self._sessions.find(token) if token else None

    def _page(self, request: Request) -> tuple[str, str]:
        """Scheme and domain of the requesting page; the guard already checked the Host header."""
        host = request.headers["host"].lower()
        if self._origin is not None and host == self._origin.netloc:
            return self._origin.scheme, host
        return "http", host

    async def _session(self, request: Request) -> Response:
        found, auditor = self._found(request), await self.auditor(request)
        if found is None or auditor is None:
            return JSONResponse({"auditor": None, "until": None})
        return JSONResponse({"auditor": "0x" + auditor.hex(), "until": int(found.until)})

    async def _message(self, request: Request) -> Response:
        address = address_of(request.query_params)
        made = await run_in_threadpool(self._sign_in.message, *self._page(request), address)
        return JSONResponse(
            {
                "text": made.text,
                "issued": made.issued,
                "nonce": made.nonce,
                "chain": made.chain_id,
                "registry": "0x" + made.registry.hex(),
            }
        )

    async def _signed(self, request: Request) -> Response:
        try:
            sent = SignedMessage.model_validate_json(await _body(request))
        except ValidationError:
            raise BadParameterError("a signed message has address, issued, nonce and signature") from None
        scheme, domain = self._page(request)
        address, signed = bytes.fromhex(sent.address[2:]), bytes.fromhex(sent.signature[2:])
        await run_in_threadpool(
            self._sign_in.require_signed, scheme, domain, address, sent.issued, sent.nonce, signed
        )
        answer = Response(status_code=204)
        answer.set_cookie(
            COOKIE,
            self._sessions.begin(address),
            max_age=SESSION_SECONDS,
            secure=scheme == "https",
            httponly=True,
            samesite="strict",
        )
        return answer

    async def _sign_out(self, request: Request) -> Response:
        if token := request.cookies.get(COOKIE):
            self._sessions.end(token)
        answer = Response(status_code=204)
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return answer


async def _body(request: Request) -> bytes:
    """Body of a request.  Raises BadParameterError if it is too long or too slow."""
    body = b""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > MAX_BODY:
                    raise BadParameterError(f"a signed message has at most {MAX_BODY} bytes")
    except TimeoutError:
        raise BadParameterError(f"a signed message is sent within {BODY_SECONDS:.0f} seconds") from None
    return body
