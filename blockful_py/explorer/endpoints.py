# SPDX-License-Identifier: Apache-2.0
"""Which of the committee's endpoints answer, and under the voting key that they must have."""

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
"""How long the answer of an endpoint is shown before it is asked again."""
PROBES = 16
"""Endpoints that are asked at one time."""


class EndpointProbe:
    """Asks endpoints, each at most every PROBED_FOR_SECONDS."""

    def __init__(self) -> None:
        self._asking = threading.Lock()
        self._answers: dict[Machine, tuple[float, bool]] = {}

    def alive(self, machines: Sequence[Machine]) -> dict[str, bool]:
        """By URL, whether the machine that holds its key answers HTTP there, whatever it answers."""
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
