# SPDX-License-Identifier: Apache-2.0
"""Reads the body of a request to a member: the signed first line, and the rest after its admission."""

from __future__ import annotations

from collections.abc import AsyncIterator

from blockful_py.committee.wire import MAX_LINE
from blockful_py.errors import MessageError


class BodyStream:
    """A request's body in two parts: its first line, and the rest."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._read = bytearray()

    async def line(self) -> bytes:
        """The first line with its end. Raises MessageError when it is too long or has no end."""
        while b"\n" not in self._read:
            if len(self._read) >= MAX_LINE or not await self._more():
                raise MessageError(f"a message begins with a line of at most {MAX_LINE} bytes.")
        end = self._read.index(b"\n") + 1
        if end > MAX_LINE:
            raise MessageError(f"a message begins with a line of at most {MAX_LINE} bytes.")
        line = bytes(self._read[:end])
        del self._read[:end]
        return line

    async def rest(self, size: int) -> bytes:
        """The body of `size` bytes. Raises MessageError when it has another length."""
        while len(self._read) <= size and await self._more():
            pass
        if len(self._read) != size:
            raise MessageError(f"the body of a message does not have the declared {size} bytes.")
        return bytes(self._read)

    async def _more(self) -> bool:
        async for chunk in self._chunks:
            if chunk:
                self._read += chunk
                return True
        return False
