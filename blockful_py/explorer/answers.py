# SPDX-License-Identifier: Apache-2.0
"""JSON answers from the index, cached until it changes; files, streams, and answers to errors."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from blockful_py.explorer.database import REVISION, IndexReader, counter
from blockful_py.explorer.lists import Document, with_parties, without_paths
from blockful_py.settings.sections import FederationSettings

HEAVY = 4
"""Maximum number of concurrent answers that read chains or stores."""
CACHED = 256
"""Maximum number of cached answers."""

Made = Callable[[sqlite3.Connection], Any]


def event_stream(events: AsyncIterator[bytes]) -> Response:
    return StreamingResponse(events, media_type="text/event-stream")


def download(data: bytes, name: str) -> Response:
    return Response(
        data,
        media_type="application/json",
        headers={"content-disposition": f'attachment; filename="{name}"'},
    )


def found(document: Document | None) -> Document:
    if document is None:
        raise HTTPException(404, "this is not known here")
    return document


def problem(status: int, text: str) -> Response:
    return JSONResponse({"error": without_paths(text)}, status)


def answering(status: int) -> Callable[[Request, Exception], Response]:
    """The handler that answers with a status and the error's text."""
    return lambda request, error: problem(status, str(error))


def busy(request: Request, error: Exception) -> Response:
    return problem(503, "the index is being rebuilt: try again in a moment")


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
