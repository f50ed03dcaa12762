# SPDX-License-Identifier: Apache-2.0
"""A running explorer: the index, its background threads, and the server."""

from __future__ import annotations

import secrets
import sqlite3
import threading
from pathlib import Path

from blockful_py.closable import Closable
from blockful_py.explorer.app import STATIC, ExplorerApp
from blockful_py.explorer.connections import BrowserServer
from blockful_py.explorer.database import IndexReader
from blockful_py.explorer.guard import Guard
from blockful_py.explorer.index import IndexThread, RecordIndex
from blockful_py.explorer.lists import without_paths
from blockful_py.explorer.monitoring import ExplorerMonitor
from blockful_py.explorer.watched import Watched
from blockful_py.monitoring.page import MonitorPage, registry_of
from blockful_py.pipeline.run.progress import Progress

INDEX = "index.sqlite"
JOBS_SECONDS = 1.0
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class Explorer(Closable):
    """Follows a federation and serves its page."""

    def __init__(
        self,
        watched: Watched,
        folder: Path,
        host: str = "127.0.0.1",
        port: int = 0,
        static: Path = STATIC,
        monitor: str | None = None,
        origin: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Opens the index and the server's port.

        `folder` stores the index.  `port` 0 picks a free one.  `monitor` is the address of the operator's
        page, `origin` the address at which a proxy publishes the explorer.  `progress` shows the first build
        of the index.

        Raises RunError if the index cannot be written, and UnreachableError if the port is taken.
        """
        self._follower = IndexThread(RecordIndex(folder / INDEX, watched.sources()), self._changed, progress)
        self._reader = IndexReader(folder / INDEX)
        registry = registry_of("explorer")
        watch = ExplorerMonitor(registry, self._follower, folder, lambda: self._app.updates.listeners)
        self._page = None if monitor is None else MonitorPage(monitor, registry, watch.health)
        self._app = ExplorerApp(watched, self._reader, secrets.token_hex(8), static, watch.health, origin)
        self._stopping = threading.Event()
        self._jobs = threading.Thread(target=self._follow_jobs, name="jobs", daemon=True)
        shown = f"[{host}]" if ":" in host else host
        guard = Guard(self._app.routes())
        self._server = BrowserServer(watch.traffic.around(guard), host, port)
        own = [f"{name}:{self._server.port}" for name in (*LOOPBACK, shown)]
        guard.allow([*own, *([] if origin is None else [origin.partition("://")[2]])])
        self.url = f"http://{shown}:{self._server.port}/"

    def serve(self) -> None:
        """Follows and serves until a signal or `stop` ends it."""
        self._follower.start()
        self._jobs.start()
        if self._page is not None:
            self._page.start()
        self._server.serve()

    def stop(self) -> None:
        """Ends `serve` from another thread."""
        self._server.stop()

    @property
    def monitor_url(self) -> str | None:
        """URL of its metrics and health."""
        return None if self._page is None else self._page.url

    def close(self) -> None:
        self._stopping.set()
        if self._page is not None:
            self._page.close()
        self._follower.close()
        if self._jobs.is_alive():
            self._jobs.join()

    def _changed(self) -> None:
        try:
            revision = self._app.prepare()
        except (sqlite3.Error, OSError):
            return
        problem = self._follower.problem
        state = {"revision": revision, "problem": problem and without_paths(problem)}
        self._app.updates.publish("index", state)

    def _follow_jobs(self) -> None:
        while not self._stopping.wait(JOBS_SECONDS):
            self._app.publish_jobs()
