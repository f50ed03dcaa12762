# SPDX-License-Identifier: Apache-2.0
"""Request ids, which trace a proposal through the logs of all involved processes.

An id names a request of the record (`request-` and its digest, as in the explorer's addresses) or a job of
one run (`job-` and a digest of the run and the job's number).  It travels in the header `X-Request-ID`.  It
is unsigned and affects no decision; a process ignores a missing or malformed one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import sha256
from typing import Any

HEADER = "x-request-id"

_FORM = re.compile(r"(request|job)-[0-9a-f]{16,64}")
_CURRENT: ContextVar[str | None] = ContextVar("request_id", default=None)


def of_request(key: bytes) -> str:
    """Id of a request by its key, 32 bytes (`record.request.request_key`)."""
    return f"request-{key.hex()}"


def of_job(run: str, number: int) -> str:
    """Id of a job without a request; `run` is the run's identity."""
    return f"job-{sha256(f'{run} {number}'.encode()).hexdigest()[:16]}"


def current() -> str | None:
    """The id under which the caller works."""
    return _CURRENT.get()


@contextmanager
def bound(request_id: str | None) -> Iterator[None]:
    """Sets the id for this thread or task, and for threads and tasks that copy its context."""
    before = _CURRENT.set(request_id)
    try:
        yield
    finally:
        _CURRENT.reset(before)


def received(header: str | None) -> str | None:
    """Validates an id sent by another process; None if it is malformed."""
    return header if header is not None and _FORM.fullmatch(header) else None


def sent() -> dict[str, str]:
    """The header for a request to another process."""
    request_id = current()
    return {} if request_id is None else {HEADER: request_id}


class RequestIds:
    """ASGI middleware that handles each request under the id in its header."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        values = [value for name, value in scope.get("headers", ()) if name == HEADER.encode()]
        with bound(received(values[0].decode("latin-1")) if len(values) == 1 else None):
            await self._app(scope, receive, send)
