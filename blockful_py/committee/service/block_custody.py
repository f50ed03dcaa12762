# SPDX-License-Identifier: Apache-2.0
"""A member's custody of blocks that peers and leaders push: it says which it has, and keeps others.

What arrives is bounded by sender (`storage.arrivals`), and goes unless a file that needs it is kept in time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from blockful_py.committee.service.limits import MAX_NAMES
from blockful_py.committee.service.messages import BlockNames, Empty
from blockful_py.errors import MessageError, RefusedError, StorageError
from blockful_py.storage import car
from blockful_py.storage.arrivals import Arrivals
from blockful_py.storage.store import ContentStore
from blockful_py.storage.writers import Writers


class BlockCustody:
    """Answers messages about blocks."""

    def __init__(self, store: ContentStore, arrivals: Arrivals) -> None:
        self._store = store
        self._arrivals = arrivals

    def had(self, sender: bytes, asked: BlockNames) -> BlockNames:
        """The named blocks that a kept file has or this sender has pushed; the latter count as fresh."""
        if len(asked.blocks) > MAX_NAMES:
            raise MessageError(f"{len(asked.blocks)} blocks are named at once, {MAX_NAMES} are allowed.")
        by = sender.hex()
        with _refused():
            return BlockNames(
                tuple(
                    uri
                    for uri in asked.blocks
                    if self._store.has_kept_block(uri) or self._arrivals.renew(by, uri)
                )
            )

    def keep(self, sender: bytes, body: bytes) -> Empty:
        """Keeps the blocks of a CAR; none of a CAR that is malformed anywhere.  Raises RefusedError."""
        by = sender.hex()
        with _refused():
            blocks = [*car.read(body)]
            with Writers(lambda uri, parts: self._arrivals.put(by, uri, b"".join(parts))) as writers:
                for uri, block in blocks:
                    writers.put(uri, (block,))
        return Empty()


@contextmanager
def _refused() -> Iterator[None]:
    try:
        yield
    except StorageError as error:
        raise RefusedError(f"the blocks cannot be kept: {error}") from None
