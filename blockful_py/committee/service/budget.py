# SPDX-License-Identifier: Apache-2.0
"""A budget of bytes for the bodies that a member holds at one time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class ByteBudget:
    """Gives out `total` bytes in the order of the requests; one above it gets the whole budget for itself."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._free = total
        self._turn = asyncio.Lock()
        self._freed = asyncio.Event()

    @asynccontextmanager
    async def hold(self, size: int) -> AsyncIterator[None]:
        """Holds `size` bytes; waits until they are free."""
        amount = min(size, self._total)
        async with self._turn:
            while self._free < amount:
                self._freed.clear()
                await self._freed.wait()
            self._free -= amount
        try:
            yield
        finally:
            self._free += amount
            self._freed.set()
