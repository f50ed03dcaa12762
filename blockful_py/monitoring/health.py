# SPDX-License-Identifier: Apache-2.0
"""Whether a service is ready, and why not, from what it has seen already: no check asks a chain or a peer.

The whole report is for operators (`page`).  Strangers, on the port of a service, are told only yes or no.
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
"""A store with less room is not writable: a model and a journal entry may not fit."""

Check = Callable[[], str | None]
"""Returns the reason why a service is not ready, without secrets and URLs; None where it is."""


@dataclass(frozen=True, slots=True)
class HealthReport:
    """The reasons why a service is not ready, by check, and facts that decide nothing."""

    problems: Mapping[str, str]
    facts: Mapping[str, Any]

    @property
    def is_ready(self) -> bool:
        return not self.problems

    @property
    def status(self) -> int:
        """The HTTP status that monitors go by."""
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
    """An application that says whether a service is ready, and nothing else."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        report = health.report()
        await JSONResponse({"ready": report.is_ready}, report.status)(scope, receive, send)

    return answer


def writable(folder: Path) -> Check:
    """Checks that a folder can be written to and has room."""

    def check() -> str | None:
        try:
            free = shutil.disk_usage(folder).free
        except OSError as error:
            return f"its folder cannot be read: {error.strerror}"
        if not os.access(folder, os.W_OK):
            return "its folder cannot be written to"
        return f"its disk has {free // 2**20} MiB left" if free < FREE_BYTES else None

    return check
