# SPDX-License-Identifier: Apache-2.0
"""Serves `/metrics` (Prometheus) and `/healthz` to a service's operator, at a separate address.

It uses plain HTTP without authentication, so it listens on the loopback interface or in a private network.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import threading
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import version
from typing import Self

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Gauge,
    Info,
    ProcessCollector,
    generate_latest,
)
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from uvicorn import Config, Server

from blockful_py.closable import Closable
from blockful_py.errors import SettingsError, UnreachableError
from blockful_py.monitoring.health import PATH, Health

CONNECTIONS = 16
IDLE_SECONDS = 5


def registry_of(service: str) -> CollectorRegistry:
    """A registry with the metrics of a process: memory, processor time, files."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    about = {"version": version("blockful"), "service": service}
    Info("blockful_build", "The program that runs.", registry=registry).info(about)
    return registry


class MonitorPage(Closable):
    """Listens from its construction on; serves between `start` and `close`."""

    def __init__(self, place: str, registry: CollectorRegistry, health: Health) -> None:
        """Listens at `place`, such as 127.0.0.1:9100; port 0 picks a free one.

        Raises SettingsError for a malformed or public address, and UnreachableError if the port is taken.
        """
        host, port = _parsed(place)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._listening = socket.create_server((host, port), family=family)
        except OSError as error:
            raise UnreachableError(
                f"{place} cannot be listened on ({error.strerror}): choose another port."
            ) from None
        ready = Gauge("blockful_ready", "1 while the service is ready.", registry=registry)
        ready.set_function(lambda: health.report().is_ready)

        def metrics(request: Request) -> Response:
            return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

        def state(request: Request) -> Response:
            report = health.report()
            document = {"ready": report.is_ready, "problems": report.problems, **report.facts}
            return JSONResponse(document, report.status)

        app = Starlette(routes=[Route("/metrics", metrics), Route(PATH, state)])
        config = Config(
            app,
            http="h11",
            loop="asyncio",
            log_config=None,
            log_level="critical",
            access_log=False,
            lifespan="off",
            ws="none",
            limit_concurrency=CONNECTIONS,
            timeout_keep_alive=IDLE_SECONDS,
        )
        self._server = Server(config)
        self._thread = threading.Thread(target=self._run, name="monitor", daemon=True)

    @property
    def url(self) -> str:
        host, port = self._listening.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def start(self) -> None:
        self._thread.start()

    def __enter__(self) -> Self:
        self.start()
        return self

    def close(self) -> None:
        self._server.should_exit = self._server.force_exit = True
        if self._thread.is_alive():
            self._thread.join()
        self._listening.close()

    def _run(self) -> None:
        self._server.run(sockets=[self._listening])


def monitor_page(
    place: str | None, registry: CollectorRegistry, health: Health
) -> AbstractContextManager[MonitorPage | None]:
    """Serves the page at `place` within the context; None serves no page.  Raises as `MonitorPage`."""
    return nullcontext() if place is None else MonitorPage(place, registry, health)


def _parsed(place: str) -> tuple[str, int]:
    """Parses address and port.  Raises SettingsError."""
    host, _, port = place.rpartition(":")
    try:
        address = ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        address = None
    if address is None or not re.fullmatch(r"[0-9]{1,5}", port) or int(port) > 65535:
        raise SettingsError(f"{place!r} is not an address and a port such as 127.0.0.1:9100.")
    if address.is_global or address.is_multicast:
        raise SettingsError(
            f"{place} is public, and the metrics have no access control: listen on 127.0.0.1 or a private "
            "network, and let others in through a proxy that authenticates them."
        )
    return str(address), int(port)
