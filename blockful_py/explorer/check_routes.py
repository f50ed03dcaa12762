# SPDX-License-Identifier: Apache-2.0
"""Live checks of one model, and its proof for download."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from blockful_py.errors import BlockfulError, VerificationError
from blockful_py.explorer.answers import download, event_stream
from blockful_py.explorer.database import IndexReader
from blockful_py.explorer.lists import Document, hexed, without_paths
from blockful_py.explorer.live_updates import event
from blockful_py.explorer.places import position_of
from blockful_py.explorer.watched import Watched
from blockful_py.record.events import PROMISES
from blockful_py.record.history import check_promises
from blockful_py.record.proofs.anchors import Anchors
from blockful_py.record.proofs.exporting import export_history, export_record
from blockful_py.record.proofs.proof import Proof, Sources, verify_proof
from blockful_py.record.verify import Verifier
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


Tell = Callable[[Document], object]


def verify_now(watched: Watched, position: Position, tell: Tell) -> None:
    """Runs the checks of `record.verify` on one model, then the checks of both chains' histories.

    Calls `tell` with {"check", "holds", "detail"} for each, and with {"done", "passed"} at the end.  After a
    failure, skips the model's remaining checks, which depend on it.  Raises NodeError.
    """
    contracts = watched.contracts
    contracts.require_unchanged()
    failed: list[str] = []
    try:
        Verifier(contracts.live, contracts.committee, watched.stores.live).verify(
            position, lambda check: tell({"check": check, "holds": True, "detail": ""})
        )
    except VerificationError as error:
        failed.append(error.check)
        tell({"check": error.check, "holds": False, "detail": without_paths(error.detail)})
    history = check_promises(contracts.live, contracts.archive, unfinished=True)
    about = {None, position, Position.of_header(position.height)}
    broken = {each.promise: each for each in reversed(history.violations) if each.position in about}
    for promise in PROMISES:
        violation = broken.get(promise)
        failed += [promise] if violation else []
        detail = f"{violation.subject}: {violation.detail}" if violation else ""
        tell({"check": promise, "holds": violation is None, "detail": detail})
    tell({"done": True, "passed": not failed, "pending": [hexed(each) for each in history.pending]})


def proof_of(watched: Watched, position: Position) -> Proof:
    """A proof of a model, verified before it is returned (docs/reference/proofs.md).

    Raises VerificationError and NodeError.
    """
    contracts, store = watched.contracts, watched.stores.live
    Verifier(contracts.live, contracts.committee, store).verify(position)
    proof = Proof(
        format="blockful-proof/1",
        record=export_record(contracts.live, contracts.committee, store, [position]),
        archive=export_history(contracts.archive),
    )
    verify_proof(proof, Anchors(), Sources(contracts.live, contracts.committee, contracts.archive))
    return proof
