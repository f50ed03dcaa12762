# SPDX-License-Identifier: Apache-2.0
"""Posts a message to a member's URL and reads its answer, within a deadline and a size."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from blockful_py import pinned_http
from blockful_py.committee.wire import MAX_LINE, PATH, first_line
from blockful_py.errors import BusyError, MessageError, TooLongError, UnreachableError
from blockful_py.types import Address

MAX_REASON = 2048
"""Maximum bytes read from the reason of an unsigned refusal."""

LimitOf = Callable[[bytes], int]
"""Maximum length of the answer's body, given its first line; raises MessageError for a wrong line."""


def post(
    url: str,
    data: bytes,
    seconds: float,
    limit_of: LimitOf,
    voter: Address | None = None,
    inside: bool = True,
) -> bytes:
    """Posts `data` to the member at `url` and returns the whole answer, received within `seconds`.

    `voter` and `inside` are as in `pinned_http.stream`.

    Raises:
        SettingsError: not a URL such as http://127.0.0.1:7001 or https://192.0.2.1:7001.
        UnreachableError: the member did not answer in time.
        BusyError: the member asks for a later retry.
        MessageError: the member rejects the message, or its answer or certificate is invalid.
    """

    async def exchange() -> bytes:
        async with asyncio.timeout(seconds):
            return await _exchange(url, data, limit_of, voter, inside)

    try:
        return asyncio.run(exchange())
    except TimeoutError:
        raise UnreachableError(f"the member at {url} did not answer within {seconds:g} s") from None


async def _exchange(url: str, data: bytes, limit_of: LimitOf, voter: Address | None, inside: bool) -> bytes:
    headers = {"content-type": "application/json"}
    async with pinned_http.stream("POST", url, PATH, voter, headers, data, inside=inside) as answer:
        if answer.status_code == 200:
            return await _read(answer.aiter_raw(), limit_of, url)
        reason = (await _upto(answer.aiter_raw(), MAX_REASON)).decode(errors="replace")[:300]
        if answer.status_code == 503:
            raise BusyError(f"the member at {url} is busy: {reason}")
        raise MessageError(f"the member at {url} did not accept a message: {reason}")


async def _read(chunks: AsyncIterator[bytes], limit_of: LimitOf, url: str) -> bytes:
    """Reads a message whose body is no longer than its first line allows."""
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
    """The first `size` bytes, or fewer if there are no more."""
    read = bytearray()
    async for chunk in chunks:
        read += chunk
        if len(read) >= size:
            break
    return bytes(read[:size])
