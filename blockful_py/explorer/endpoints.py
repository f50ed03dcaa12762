# SPDX-License-Identifier: Apache-2.0
"""Probes which committee endpoints answer under the expected voting key."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence

from blockful_py import pinned_http
from blockful_py.errors import MessageError, SettingsError, UnreachableError
from blockful_py.storage.fetch import Machine

PROBE_SECONDS = 5.0
PROBED_FOR_SECONDS = 15.0
"""Seconds for which an endpoint's status is shown before it is probed again."""
PROBES = 16
"""Maximum number of concurrent probes."""


class EndpointProbe:
    """Probes endpoints, each at most once per PROBED_FOR_SECONDS."""

    def __init__(self) -> None:
        self._asking = threading.Lock()
        self._answers: dict[Machine, tuple[float, bool]] = {}

    def alive(self, machines: Sequence[Machine]) -> dict[str, bool]:
        """By URL, whether the machine with the right key answers HTTP there, with any status."""
        with self._asking:
            now = time.monotonic()
            due = [m for m in machines if now - self._answers.get(m, (-1e9, False))[0] > PROBED_FOR_SECONDS]
            found = asyncio.run(_all(due)) if due else []
            asked = {machine: (now, answer) for machine, answer in zip(due, found, strict=True)}
            self._answers = {each: asked.get(each) or self._answers[each] for each in machines}
            return {machine.url: answer for machine, (_, answer) in self._answers.items()}


async def _all(machines: Sequence[Machine]) -> list[bool]:
    turns = asyncio.Semaphore(PROBES)

    async def one(machine: Machine) -> bool:
        async with turns:
            return await _answers(machine)

    return await asyncio.gather(*(one(each) for each in machines))


async def _answers(machine: Machine) -> bool:
    try:
        async with (
            asyncio.timeout(PROBE_SECONDS),
            pinned_http.stream("HEAD", machine.url, "/", machine.address, {}, inside=machine.inside),
        ):
            return True
    except (TimeoutError, UnreachableError, MessageError, SettingsError):
        return False
