# SPDX-License-Identifier: Apache-2.0
"""The engine of local processes, spawned so that they inherit none of the driver's state."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing.connection import Connection

from blockful_py.engine.engine import ATTEMPTS, Order
from blockful_py.engine.worker import carry_out
from blockful_py.errors import EngineError


class LocalProcesses:
    """Runs orders in `workers` processes, which start with the first order."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._pool: ProcessPoolExecutor | None = None
        self._alive: Connection | None = None

    def answers(self, orders: Mapping[str, Order]) -> Iterator[tuple[str, str]]:
        """See Engine.  The death of one worker ends the whole pool."""
        left, deaths = dict(orders), 0
        while left:
            try:
                for key, answer in self._attempt(left):
                    del left[key]
                    deaths = 0
                    yield key, answer
            except BrokenProcessPool:
                self.close()
                deaths += 1
                if deaths == ATTEMPTS:
                    raise EngineError(
                        f"{ATTEMPTS} times in a row a worker process died before any task was done: give it "
                        "more memory, lower engine.workers, or find the cause of its death."
                    ) from None

    def close(self) -> None:
        if self._alive is not None:
            self._alive.close()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._pool = self._alive = None

    def _attempt(self, orders: Mapping[str, Order]) -> Iterator[tuple[str, str]]:
        pool = self._started()
        futures: dict[Future[str], str] = {
            pool.submit(carry_out, order.text): key for key, order in orders.items()
        }
        for future in as_completed(futures):
            yield futures[future], future.result()

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            watched, self._alive = context.Pipe(duplex=False)
            self._pool = ProcessPoolExecutor(self._workers, context, _prepare, (watched,))
        return self._pool


def _prepare(watched: Connection) -> None:
    """Ends the process together with its driver, and ignores Ctrl-C, which the driver handles."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(watched,), daemon=True).start()


def _end_with(watched: Connection) -> None:
    """Ends this process when the other end of the pipe closes."""
    with suppress(EOFError, OSError):
        watched.recv()
    os._exit(0)
