# SPDX-License-Identifier: Apache-2.0
"""Live checks of one model, and its proof for download."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from blockful_py.errors import BlockfulError
from blockful_py.explorer.database import IndexReader
from blockful_py.explorer.lists import without_paths
from blockful_py.explorer.live_updates import event
from blockful_py.explorer.places import position_of
from blockful_py.explorer.responses import download, event_stream
from blockful_py.explorer.verifying import proof_of, verify_now
from blockful_py.explorer.watched import Watched
from blockful_py.types import Position


class CheckRoutes:
    """Routes that verify a model; `heavy` is shared with all answers that read chains or stores."""

    def __init__(self, watched: Watched, reader: IndexReader, heavy: asyncio.Semaphore) -> None:
        self._watched = watched
        self._reader = reader
        self._heavy = heavy

    def routes(self) -> list[Route]:
        return [
            Route("/api/models/{place}/verify", self._verify),
            Route("/api/models/{place}/proof", self._proof),
        ]

    async def _proof(self, request: Request) -> Response:
        position = await run_in_threadpool(self._position, request)
        async with self._heavy:
            found = await run_in_threadpool(proof_of, self._watched, position)
        return download(found.to_bytes(), f"model-{position.height}-{position.index}.proof.json")

    async def _verify(self, request: Request) -> Response:
        return event_stream(self._verifying(await run_in_threadpool(self._position, request)))

    def _position(self, request: Request) -> Position:
        """The position in the request's path.  Raises UnknownPlaceError."""
        with self._reader.moment() as connection:
            return position_of(connection, request.path_params["place"])

    async def _verifying(self, position: Position) -> AsyncIterator[bytes]:
        """Events of the checks as they complete."""
        loop, told = asyncio.get_running_loop(), asyncio.Queue[dict[str, Any] | None]()

        def tell(each: dict[str, Any] | None) -> None:
            loop.call_soon_threadsafe(told.put_nowait, each)

        def run() -> None:
            try:
                verify_now(self._watched, position, tell)
            except BlockfulError as error:
                tell({"error": without_paths(str(error))})
            tell(None)

        async with self._heavy:
            work: Awaitable[None] = asyncio.ensure_future(asyncio.to_thread(run))
            while (each := await told.get()) is not None:
                yield event("check", json.dumps(each))
            await work
