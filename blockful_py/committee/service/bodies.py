# SPDX-License-Identifier: Apache-2.0
"""The bodies of requests to a member: read in two parts, within a budget of bytes, and handled on threads."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from contextvars import copy_context
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from blockful_py.committee.wire import MAX_LINE
from blockful_py.errors import MessageError


class BodyStream:
    """A request's body in two parts: its first line, and the rest."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._read = bytearray()

    async def line(self) -> bytes:
        """The first line with its end. Raises MessageError when it is too long or has no end."""
        while b"\n" not in self._read and len(self._read) < MAX_LINE and await self._more():
            pass
        end = self._read.find(b"\n", 0, MAX_LINE) + 1
        if not end:
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


class ByteBudget:
    """Allots `total` bytes in the order of the requests; each holder gets one allotment at a time.

    A body larger than `total` gets the whole budget.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._free = total
        self._lock = asyncio.Lock()
        self._holders: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()
        self._freed = asyncio.Event()

    @asynccontextmanager
    async def hold(self, size: int, holder: Hashable) -> AsyncIterator[None]:
        """Holds `size` bytes; waits until they are free and `holder` has no other allotment."""
        amount = min(size, self._total)
        async with self._holders.setdefault(holder, asyncio.Lock()):
            async with self._lock:
                while self._free < amount:
                    self._freed.clear()
                    await self._freed.wait()
                self._free -= amount
            try:
                yield
            finally:
                self._free += amount
                self._freed.set()


Value = TypeVar("Value")


async def in_thread(function: Callable[..., Value], *arguments: Any) -> Value:
    """The result of a blocking call; its thread does not keep the process alive."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Value] = loop.create_future()

    def settle(result: Value | None, error: Exception | None) -> None:
        if done.cancelled():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        try:
            outcome: tuple[Value | None, Exception | None] = (function(*arguments), None)
        except Exception as error:
            outcome = (None, error)
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=copy_context().run, args=(run,), daemon=True).start()
    return await done
