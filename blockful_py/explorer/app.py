# SPDX-License-Identifier: Apache-2.0
"""The explorer's ASGI app: the page, its files, and its API (docs/how-to/watch-a-federation.md)."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from blockful_py.errors import BlockfulError
from blockful_py.explorer import lists
from blockful_py.explorer.answers import IndexAnswers, answering, busy, download, event_stream, found, problem
from blockful_py.explorer.check_routes import CheckRoutes
from blockful_py.explorer.committee_page import EndpointProbe, committee_document
from blockful_py.explorer.database import IndexReader
from blockful_py.explorer.forecast import forecast
from blockful_py.explorer.graph_file import GraphFiles
from blockful_py.explorer.jobs_feed import JobsFeed
from blockful_py.explorer.live_updates import MAX_LISTENERS, Updates
from blockful_py.explorer.model_page import model_document
from blockful_py.explorer.parameters import (
    MAX_STARTS,
    BadParameterError,
    key_of,
    number,
    one_of,
    places_of,
    text_of,
)
from blockful_py.explorer.places import UnknownPlaceError, position_of
from blockful_py.explorer.requests_page import certificate_of, request_document, request_list
from blockful_py.explorer.sign_in import SignIn, SignInError
from blockful_py.explorer.sign_in_routes import SignInRoutes
from blockful_py.explorer.watched import Watched
from blockful_py.monitoring import health
from blockful_py.monitoring.health import Health
from blockful_py.record.request import Request

STATIC = Path(__file__).parent / "static"
PAGES = (
    "/",
    "/models",
    "/models/{place}",
    "/compare",
    "/requests",
    "/requests/{key}",
    "/what-if",
    "/committee",
    "/blocks",
    "/jobs",
    "/sign-in",
)


class ExplorerApp:
    """Answers from the index, and from the chains and stores of the watched federation."""

    def __init__(
        self,
        watched: Watched,
        reader: IndexReader,
        identity: str,
        static: Path = STATIC,
        state: Health | None = None,
        origin: str | None = None,
    ) -> None:
        """Builds the app.

        `identity` identifies this index for browser caches.  `state` None means always ready.  `origin` is as
        in `SignInRoutes`.
        """
        self._state = state or Health({})
        self._watched = watched
        self._reader = reader
        self._identity = identity
        self._static = static
        federation = watched.run.settings.federation
        self._graphs = GraphFiles(reader, federation)
        self._jobs = JobsFeed(watched.jobs)
        self._probe = EndpointProbe()
        self._answers = IndexAnswers(reader, federation)
        self._checks = CheckRoutes(watched, reader, self._answers.heavy)
        self._sign_in = SignInRoutes(SignIn(lambda: watched.contracts.archive), origin)
        self.updates = Updates()

    def routes(self) -> Starlette:
        """The app, without its guard."""
        pages = [Route(path, self._page) for path in PAGES]
        files = [Mount("/static", StaticFiles(directory=self._static))] if self._static.is_dir() else []
        return Starlette(
            routes=[
                *pages,
                *files,
                Route(health.PATH, self._health),
                Route("/api/federation", self._federation),
                Route("/api/graph", self._graph),
                Route("/api/models", self._models),
                Route("/api/models/{place}", self._model),
                Route("/api/compare", self._compare),
                *self._checks.routes(),
                *self._sign_in.routes(),
                Route("/api/requests", self._requests),
                Route("/api/requests/{key}", self._request),
                Route("/api/requests/{key}/certificate", self._certificate),
                Route("/api/what-if", self._what_if),
                Route("/api/committee", self._committee),
                Route("/api/blocks", self._blocks),
                Route("/api/jobs", self._jobs_now),
                Route("/api/events", self._events),
            ],
            exception_handlers={
                BadParameterError: answering(400),
                UnknownPlaceError: answering(404),
                SignInError: answering(403),
                BlockfulError: answering(502),
                sqlite3.Error: busy,
                HTTPException: self._http_error,
            },
        )

    def prepare(self) -> int:
        """Makes the graph file that pages request first; returns the index's revision.

        Raises sqlite3.Error or OSError while the index is being rebuilt.
        """
        return self._graphs.current().revision

    def publish_jobs(self) -> None:
        """Sends the jobs to open pages if they have changed."""
        self.updates.publish("jobs", self._jobs.documents())

    async def _page(self, request: HttpRequest, status: int = 200) -> Response:
        page = self._static / "index.html"
        if not page.is_file():
            return PlainTextResponse(
                "The pages are not built: run `make setup` in the clone, and then build the wheel.\n", 503
            )
        return Response(page.read_bytes(), status, {"cache-control": "no-cache"}, "text/html")

    async def _http_error(self, request: HttpRequest, error: Exception) -> Response:
        """An error as JSON; for unknown page addresses, the page itself, which shows the error."""
        status, detail = getattr(error, "status_code", 500), getattr(error, "detail", "")
        if status == 404 and not request.url.path.startswith(("/api/", "/static/")):
            return await self._page(request, status)
        return problem(status, detail)

    async def _health(self, request: HttpRequest) -> Response:
        report = self._state.report()
        return JSONResponse({"ready": report.is_ready}, report.status)

    async def _federation(self, request: HttpRequest) -> Response:
        contracts = self._watched.contracts
        followers = contracts.followers
        about = {
            "name": self._watched.name,
            "demo_clock": self._watched.demo_clock,
            "live": {"chain": contracts.live.chain_id, "contract": lists.hexed(contracts.live.address)},
            "archive": None
            if followers is None
            else {
                "chain": followers.archive.chain_id,
                "contract": lists.hexed(followers.archive.address),
            },
            "jobs": bool(self._watched.jobs),
        }
        return await self._answers.indexed(request, lambda connection: {**about, **lists.summary(connection)})

    async def _graph(self, request: HttpRequest) -> Response:
        file = await run_in_threadpool(self._graphs.current)
        tag = f'"{self._identity}-{file.revision}"'
        headers = {"etag": tag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        headers["content-encoding"] = "gzip"
        return Response(file.data, media_type="application/octet-stream", headers=headers)

    async def _models(self, request: HttpRequest) -> Response:
        query = request.query_params
        chosen = (
            text_of(query, "search"),
            one_of(query, "order", "position", lists.ORDERS),
            one_of(query, "direction", "up", ("up", "down")) == "down",
            number(query, "start", 0, 0, 10_000_000),
            number(query, "count", 50, 1, 200),
        )
        return await self._answers.indexed(request, lambda connection: lists.model_list(connection, *chosen))

    async def _model(self, request: HttpRequest) -> Response:
        place = request.path_params["place"]
        audited = await self._sign_in.auditor(request) is not None
        return await self._answers.heavily(
            request,
            lambda connection: model_document(connection, self._watched, place, audited),
            kept=False,
        )

    async def _compare(self, request: HttpRequest) -> Response:
        places = places_of(request.query_params, "model", 2, 2)
        audited = await self._sign_in.auditor(request) is not None
        return await self._answers.heavily(
            request,
            lambda c: [model_document(c, self._watched, place, audited) for place in places],
            kept=False,
        )

    async def _requests(self, request: HttpRequest) -> Response:
        audited = await self._sign_in.auditor(request) is not None
        return await self._answers.indexed(request, lambda c: request_list(c, audited), kept=not audited)

    async def _request(self, request: HttpRequest) -> Response:
        key = key_of(request.path_params["key"])
        audited = await self._sign_in.auditor(request) is not None
        return await self._answers.heavily(
            request, lambda c: found(request_document(c, self._watched, key, audited)), kept=False
        )

    async def _certificate(self, request: HttpRequest) -> Response:
        key = key_of(request.path_params["key"])
        rows = self._reader.rows("SELECT document FROM request WHERE key = ?", (key,))
        asked = Request.model_validate_json(rows[0]["document"]) if rows else None
        found = None if asked is None else await run_in_threadpool(certificate_of, self._watched, asked)
        if found is None or asked is None:
            raise HTTPException(404, "there is no certificate of this request here")
        return download(found.to_bytes(), f"erasure-{asked.created}.json")

    async def _what_if(self, request: HttpRequest) -> Response:
        starts = places_of(request.query_params, "start", 1, MAX_STARTS)
        settings = self._watched.run.settings
        chunk, blocks = settings.chain.chunk_models, settings.unlearning.blocks

        def made(connection: sqlite3.Connection) -> Any:
            positions = list(dict.fromkeys(position_of(connection, start) for start in starts))
            return forecast(connection, positions, chunk, blocks, self._jobs.request_seconds())

        return await self._answers.heavily(request, made)

    async def _committee(self, request: HttpRequest) -> Response:
        return await self._answers.heavily(
            request, lambda connection: committee_document(connection, self._watched, self._probe), kept=False
        )

    async def _blocks(self, request: HttpRequest) -> Response:
        query = request.query_params
        before = number(query, "before", 2**53, 1, 2**53)
        count = number(query, "count", 50, 1, 200)
        return await self._answers.indexed(
            request, lambda connection: lists.blocks(connection, before, count)
        )

    async def _jobs_now(self, request: HttpRequest) -> Response:
        return JSONResponse({"runs": await run_in_threadpool(self._jobs.documents)})

    async def _events(self, request: HttpRequest) -> Response:
        if self.updates.listeners >= MAX_LISTENERS:
            raise HTTPException(503, "too many pages are open: this one does not update by itself")
        return event_stream(self.updates.stream())
