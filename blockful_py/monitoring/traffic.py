# SPDX-License-Identifier: Apache-2.0
"""Counts the HTTP requests that a service answers."""

from __future__ import annotations

import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ResourceOf = Callable[[Scope], str]
"""Returns the resource of an answered request, one of a few words for any path."""


class HttpTraffic:
    """ASGI middleware that counts requests; apply it with `around`."""

    def __init__(self, registry: CollectorRegistry, resource_of: ResourceOf) -> None:
        self._resource_of = resource_of
        self._requests = Counter(
            "blockful_http_requests", "Requests answered.", ["resource", "status"], registry=registry
        )
        self._sent = Counter(
            "blockful_http_sent_bytes", "Bytes of the bodies of answers.", ["resource"], registry=registry
        )
        self._seconds = Histogram(
            "blockful_http_request_seconds",
            "Seconds from a request's head to the end of its answer.",
            ["resource"],
            registry=registry,
        )

    def around(self, app: ASGIApp) -> ASGIApp:
        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            begun, status, size = time.perf_counter(), 0, 0

            async def counting(message: Message) -> None:
                nonlocal status, size
                status = message.get("status", status)
                size += len(message.get("body", b""))
                await send(message)

            try:
                await app(scope, receive, counting)
            finally:
                resource = self._resource_of(scope)
                self._requests.labels(resource, str(status) if status else "none").inc()
                self._sent.labels(resource).inc(size)
                self._seconds.labels(resource).observe(time.perf_counter() - begun)

        return counted
