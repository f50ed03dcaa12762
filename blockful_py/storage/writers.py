# SPDX-License-Identifier: Apache-2.0
"""Hashes and writes blocks in a few threads: hashing overlaps with syncs, and syncs share a commit."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from types import TracebackType
from typing import TypeVar

from blockful_py.storage.unixfs import Leaf, Parts, PutParts, leaf_of
from blockful_py.types import Uri

THREADS = 8
"""More threads than cores, since most wait for the disk."""
WAITING = 12
"""Maximum number of blocks in memory."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(pool: Executor, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yields results in the order of `items`, with at most WAITING in progress."""
    pending: deque[Future[Result]] = deque()
    for item in items:
        if len(pending) == WAITING:
            yield pending.popleft().result()
        pending.append(pool.submit(work, item))
    for done in pending:
        yield done.result()


class Writers:
    """Calls `put` for blocks in other threads; all are written when the context ends.

    An error of `put` is raised by a later call or at the end of the context.
    """

    def __init__(self, put: PutParts) -> None:
        self._put = put
        self._pool = ThreadPoolExecutor(THREADS)
        self._pending: deque[Future[None]] = deque()

    def leaves(self, chunks: Iterable[Parts]) -> Iterator[Leaf]:
        """Hashes and writes chunks; yields their leaves in order, each after its write."""
        yield from in_order(self._pool, self._leaf, chunks)

    def put(self, uri: Uri, parts: Parts) -> None:
        """Writes a block; waits while WAITING others are pending."""
        if len(self._pending) == WAITING:
            self._pending.popleft().result()
        self._pending.append(self._pool.submit(self._put, uri, parts))

    def _leaf(self, chunk: Parts) -> Leaf:
        leaf = leaf_of(chunk)
        self._put(leaf[0], chunk)
        return leaf

    def __enter__(self) -> Writers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(wait=True, cancel_futures=kind is not None)
        if kind is None:
            for done in self._pending:
                done.result()
