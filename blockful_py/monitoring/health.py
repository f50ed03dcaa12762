# SPDX-License-Identifier: Apache-2.0
"""Readiness of a service and its reasons, from known state: no check contacts a chain or a peer.

The full report is for operators (`page`).  Strangers, on the service's port, learn only yes or no.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/healthz"
FREE_BYTES = 64 * 2**20
"""Minimum free bytes of a writable store, enough for a model and a journal entry."""

Check = Callable[[], str | None]
"""Returns why a service is not ready, without secrets and URLs; None if it is ready."""


@dataclass(frozen=True, slots=True)
class HealthReport:
    """Reasons why a service is not ready, by check, and facts that do not affect readiness."""

    problems: Mapping[str, str]
    facts: Mapping[str, Any]

    @property
    def is_ready(self) -> bool:
        return not self.problems

    @property
    def status(self) -> int:
        """HTTP status for monitoring systems."""
        return 200 if self.is_ready else 503


@dataclass(frozen=True, slots=True)
class Health:
    """The checks of one service, by name, and its facts."""

    checks: Mapping[str, Check]
    facts: Callable[[], Mapping[str, Any]] = dict

    def report(self) -> HealthReport:
        reasons = {name: check() for name, check in self.checks.items()}
        return HealthReport({name: why for name, why in reasons.items() if why}, self.facts())


def bare(health: Health) -> ASGIApp:
    """An application that reports only whether a service is ready."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        report = health.report()
        await JSONResponse({"ready": report.is_ready}, report.status)(scope, receive, send)

    return answer


def writable(folder: Path) -> Check:
    """A check that a folder is writable and has room."""

    def check() -> str | None:
        try:
            free = shutil.disk_usage(folder).free
        except OSError as error:
            return f"its folder cannot be read: {error.strerror}"
        if not os.access(folder, os.W_OK):
            return "its folder cannot be written to"
        return f"its disk has {free // 2**20} MiB left" if free < FREE_BYTES else None

    return check
