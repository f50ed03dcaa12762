# SPDX-License-Identifier: Apache-2.0
"""Posts a message to a member's URL and reads its answer, within a deadline and a size."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import urlsplit

from blockful_py.committee.service.tls import client_context, require_voter
from blockful_py.committee.wire import MAX_LINE, PATH, first_line
from blockful_py.errors import BusyError, MessageError, SettingsError, TooLongError, UnreachableError
from blockful_py.extras import needed_by

MAX_REASON = 2048
"""Bytes that are read of the reason of a refusal without a signature."""

LimitOf = Callable[[bytes], int]
"""Maximum length of the answer's body, given its first line; raises MessageError for a wrong line."""


def post(url: str, data: bytes, seconds: float, limit_of: LimitOf, voter: bytes | None = None) -> bytes:
    """The answer of the member at `url`, received whole within `seconds`.

    `voter` is the address that the certificate must be bound to where the URL is of TLS; None takes any.

    Raises:
        SettingsError: not a URL such as http://127.0.0.1:7001 or https://192.0.2.1:7001.
        UnreachableError: no answer, or none in time.
        BusyError: the member asks to be asked later.
        MessageError: the member rejects the message, or its answer or certificate is not as it must be.
    """
    _require_url(url)
    with needed_by("asking members that are processes"):
        import httpx2

    async def exchange() -> bytes:
        async with asyncio.timeout(seconds):
            return await _exchange(httpx2, url, data, limit_of, voter)

    try:
        return asyncio.run(exchange())
    except TimeoutError:
        raise UnreachableError(f"the member at {url} did not answer within {seconds:g} s") from None
    except httpx2.TransportError as error:
        raise UnreachableError(f"no member answers at {url} ({error or type(error).__name__})") from None


async def _exchange(httpx2: Any, url: str, data: bytes, limit_of: LimitOf, voter: bytes | None) -> bytes:
    async def trace(event: str, info: dict[str, Any]) -> None:
        if event == "connection.start_tls.complete":
            stream = info["return_value"]
            certificate = stream.get_extra_info("ssl_object").getpeercert(binary_form=True)
            try:
                require_voter(certificate, voter)
            except MessageError:
                await stream.aclose()
                raise

    headers = {"content-type": "application/json", "accept-encoding": "identity", "connection": "close"}
    context = client_context() if url.startswith("https") else False
    async with (
        httpx2.AsyncClient(verify=context, trust_env=False, timeout=None) as client,
        client.stream(
            "POST", url.rstrip("/") + PATH, content=data, headers=headers, extensions={"trace": trace}
        ) as answer,
    ):
        if answer.status_code == 200:
            return await _read(answer.aiter_raw(), limit_of, url)
        reason = (await _upto(answer.aiter_raw(), MAX_REASON)).decode(errors="replace")[:300]
        if answer.status_code == 503:
            raise BusyError(f"the member at {url} is busy: {reason}")
        raise MessageError(f"the member at {url} did not accept a message: {reason}")


async def _read(chunks: AsyncIterator[bytes], limit_of: LimitOf, url: str) -> bytes:
    """A message whose body is no longer than its first line allows."""
    read = bytearray()
    allowed: int | None = None
    async for chunk in chunks:
        read += chunk
        if allowed is None and (b"\n" in chunk or len(read) >= MAX_LINE):
            line = first_line(read)
            allowed = len(line) + limit_of(line)
        if allowed is not None and len(read) > allowed:
            raise TooLongError(f"the member at {url} answers more than {allowed} bytes")
    return bytes(read)


async def _upto(chunks: AsyncIterator[bytes], size: int) -> bytes:
    """The first bytes, at most `size`."""
    read = bytearray()
    async for chunk in chunks:
        read += chunk
        if len(read) >= size:
            break
    return bytes(read[:size])


def _require_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        right = parts.hostname and parts.port and parts.path in ("", "/") and not parts.query
        plain = parts.scheme == "http" and _is_loopback(parts.hostname or "")
        if right and (plain or parts.scheme == "https"):
            return
    except ValueError:
        pass
    raise SettingsError(
        f"{url!r} is not a member's URL such as http://127.0.0.1:7001 or, beyond the loopback interface, "
        "https://192.0.2.1:7001."
    )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
