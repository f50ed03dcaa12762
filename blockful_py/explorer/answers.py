# SPDX-License-Identifier: Apache-2.0
"""JSON answers from the index, cached until it changes."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from blockful_py.explorer.database import REVISION, IndexReader, counter
from blockful_py.explorer.lists import with_parties
from blockful_py.settings.sections import FederationSettings

HEAVY = 4
"""Maximum number of concurrent answers that read chains or stores."""
CACHED = 256
"""Maximum number of cached answers."""

Made = Callable[[sqlite3.Connection], Any]


class IndexAnswers:
    """Makes answers on threads.

    Attributes:
        heavy: held while making an answer that reads chains or stores.
    """

    def __init__(self, reader: IndexReader, federation: FederationSettings) -> None:
        """Answers from `reader`; `federation` has the names that parties gave themselves."""
        self.heavy = asyncio.Semaphore(HEAVY)
        self._reader = reader
        self._federation = federation
        self._kept: OrderedDict[tuple[int, str], bytes] = OrderedDict()

    async def heavily(self, request: Request, made: Made, kept: bool = True) -> Response:
        """As `indexed`, for an answer that reads chains or stores."""
        async with self.heavy:
            return await self.indexed(request, made, kept)

    async def indexed(self, request: Request, made: Made, kept: bool = True) -> Response:
        """The JSON that `made` computes from the index; with `kept`, equal requests share a cached answer."""
        asked = f"{request.url.path}?{request.url.query}"
        return Response(
            await run_in_threadpool(self._answer, asked, made, kept), media_type="application/json"
        )

    def _answer(self, asked: str, made: Made, kept: bool) -> bytes:
        with self._reader.moment() as connection:
            revision = counter(connection, REVISION)
            found = self._kept.get((revision, asked)) if kept else None
            if found is None:
                document = with_parties(made(connection), self._federation)
                found = json.dumps(document, separators=(",", ":"), allow_nan=False).encode()
                if kept:
                    self._kept[revision, asked] = found
                    while len(self._kept) > CACHED:
                        self._kept.popitem(last=False)
            return found
