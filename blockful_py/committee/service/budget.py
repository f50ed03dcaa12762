# SPDX-License-Identifier: Apache-2.0
"""A budget of bytes for the bodies that a member has in memory at one time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary


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
