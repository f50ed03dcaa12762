# SPDX-License-Identifier: Apache-2.0
"""Helpers for answers, and for the answers to errors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from blockful_py.explorer.lists import Document, without_paths


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
