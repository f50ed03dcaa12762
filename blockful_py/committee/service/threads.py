# SPDX-License-Identifier: Apache-2.0
"""Runs a blocking call on its own thread, under the request id of the caller."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, TypeVar

Value = TypeVar("Value")


async def in_thread(function: Callable[..., Value], *arguments: Any) -> Value:
    """The result of a blocking call; its thread does not keep the process alive."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Value] = loop.create_future()

    def settle(result: Value | None, error: Exception | None) -> None:
        if done.cancelled():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        try:
            outcome: tuple[Value | None, Exception | None] = (function(*arguments), None)
        except Exception as error:
            outcome = (None, error)
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=copy_context().run, args=(run,), daemon=True).start()
    return await done
