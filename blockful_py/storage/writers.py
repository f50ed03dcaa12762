# SPDX-License-Identifier: Apache-2.0
"""Blocks written by a few threads, so that hashing goes on while disks sync and syncs share a commit."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

from blockful_py.storage.unixfs import Parts, PutParts
from blockful_py.types import Uri

THREADS = 4
WAITING = 8
"""Blocks in memory at most."""


class Writers:
    """Hands what it is given to `put` in other threads; all is written once the context ends.

    Raises what `put` raised, from a later call or from the end of the context.
    """

    def __init__(self, put: PutParts) -> None:
        self._put = put
        self._pool = ThreadPoolExecutor(THREADS)
        self._pending: deque[Future[None]] = deque()

    def put(self, uri: Uri, parts: Parts) -> None:
        """Takes a block; waits while WAITING others are not written."""
        if len(self._pending) == WAITING:
            self._pending.popleft().result()
        self._pending.append(self._pool.submit(self._put, uri, parts))

    def __enter__(self) -> Writers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(wait=True, cancel_futures=kind is not None)
        if kind is None:
            for done in self._pending:
                done.result()
