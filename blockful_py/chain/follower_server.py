# SPDX-License-Identifier: Apache-2.0
"""Serves followers of both chains to the parties of this machine, each at a path of its own."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from uvicorn import Config, Server

from blockful_py.bounded_json import parse_json
from blockful_py.chain.follower import ChainFollower
from blockful_py.chain.rpc import BATCH_SIZE, RpcError
from blockful_py.closable import Closable
from blockful_py.errors import NodeError, UnreachableError
from blockful_py.monitoring.logs import without_keys

HOST = "127.0.0.1"
MAX_BODY = 16 * 2**20
"""Maximum bytes of a request: a batch of the largest transactions has fewer."""
IDLE_SECONDS = 60


class FollowerServer(Closable):
    """Listens on the loopback interface from its construction on; `serve` serves."""

    def __init__(self, followers: Mapping[str, ChainFollower], port: int = 0) -> None:
        """Listens for the follower of each name at `/NAME`; port 0 takes a free one.

        Raises UnreachableError if the port is taken.
        """
        try:
            self._listening = socket.create_server((HOST, port))
        except OSError as error:
            raise UnreachableError(
                f"{HOST}:{port} cannot be listened on ({error.strerror}): choose another --port."
            ) from None
        self._followers = followers
        self.urls = {name: f"http://{HOST}:{self._listening.getsockname()[1]}/{name}" for name in followers}
        app = Starlette(routes=[Route("/{name}", self._answer, methods=["POST"])])
        config = Config(
            app,
            http="h11",
            loop="asyncio",
            log_config=None,
            log_level="critical",
            access_log=False,
            lifespan="off",
            ws="none",
            timeout_keep_alive=IDLE_SECONDS,
            timeout_graceful_shutdown=1,
        )
        self._server = Server(config)

    def serve(self) -> None:
        """Serves on this thread until a signal or `stop` ends it."""
        self._server.run(sockets=[self._listening])

    def stop(self) -> None:
        """Ends `serve` from another thread."""
        self._server.should_exit = True

    def close(self) -> None:
        self._listening.close()
        for each in self._followers.values():
            each.close()

    async def _answer(self, request: Request) -> Response:
        follower = self._followers.get(request.path_params["name"])
        if follower is None:
            return PlainTextResponse(f"chains are at {', '.join(self.urls.values())}\n", 404)
        if request.headers.get("content-type") != "application/json":  # a page of a browser cannot set it
            return PlainTextResponse("send application/json\n", 415)
        try:
            asked = parse_json(await _body(request))
            several = asked if isinstance(asked, list) else [asked]
            calls = [(str(each["method"]), each.get("params", [])) for each in several]
            numbers = [each["id"] for each in several]
        except (ValueError, TypeError, KeyError, AttributeError):
            return JSONResponse(_refused(None, RpcError(-32600, "this is not JSON-RPC")), 400)
        if not 0 < len(calls) <= BATCH_SIZE:
            return JSONResponse(_refused(None, RpcError(-32600, f"ask 1 to {BATCH_SIZE} calls at once")), 413)
        try:
            answers = await follower.batch(calls)
        except NodeError as error:
            return JSONResponse(_refused(numbers[0], RpcError(-32000, without_keys(str(error)))), 502)
        documents = [
            _refused(number, answer)
            if isinstance(answer, RpcError)
            else {"jsonrpc": "2.0", "id": number, "result": answer}
            for number, answer in zip(numbers, answers, strict=True)
        ]
        return JSONResponse(documents if isinstance(asked, list) else documents[0])


async def _body(request: Request) -> bytes:
    """The body of a request.  Raises ValueError if it is too long."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            raise ValueError
    return bytes(body)


def _refused(number: object, error: RpcError) -> dict[str, Any]:
    data = {} if error.data is None else {"data": error.data}
    return {"jsonrpc": "2.0", "id": number, "error": {"code": error.code, "message": error.message, **data}}
