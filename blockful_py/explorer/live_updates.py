# SPDX-License-Identifier: Apache-2.0
"""Pushes changes to open pages by server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

HEARTBEAT_SECONDS = 15.0
MAX_LISTENERS = 256


class Updates:
    """The newest value of each topic, for any number of listeners on one event loop."""

    def __init__(self) -> None:
        self._values: dict[str, tuple[int, str]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed: asyncio.Event | None = None
        self.listeners = 0

    def publish(self, topic: str, value: Any) -> None:
        """Sets a topic's value if it changed; on any thread, but one at a time per topic."""
        text = json.dumps(value, separators=(",", ":"))
        number, before = self._values.get(topic, (0, ""))
        if text == before:
            return
        self._values[topic] = number + 1, text
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        if self._changed is not None:
            self._changed.set()
            self._changed = None

    async def stream(self) -> AsyncIterator[bytes]:
        """Every topic's value, then changes; periodic comments reveal dead peers."""
        told: dict[str, int] = {}
        self._loop = asyncio.get_running_loop()
        self.listeners += 1
        try:
            while True:
                changed = self._changed = self._changed or asyncio.Event()
                for topic, (number, text) in list(self._values.items()):
                    if told.get(topic) != number:
                        told[topic] = number
                        yield event(topic, text)
                try:
                    async with asyncio.timeout(HEARTBEAT_SECONDS):
                        await changed.wait()
                except TimeoutError:
                    yield b": here\n\n"
        finally:
            self.listeners -= 1


def event(topic: str, text: str) -> bytes:
    """A server-sent event; `text` has no line break."""
    return f"event: {topic}\ndata: {text}\n\n".encode()
