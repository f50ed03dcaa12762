# SPDX-License-Identifier: Apache-2.0
"""A member's custody of blocks: it tells peers and leaders which ones it has, and stores the ones they push.

Storage for pushed blocks is limited by sender (`storage.arrivals`).  A block is removed unless a kept file
needs it in time.
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
from blockful_py.types import Address


class BlockCustody:
    """Answers messages about blocks."""

    def __init__(self, store: ContentStore, arrivals: Arrivals) -> None:
        self._store = store
        self._arrivals = arrivals

    def had(self, sender: Address, asked: BlockNames) -> BlockNames:
        """The named blocks in kept files or pushed by this sender; renews the pushed ones."""
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

    def keep(self, sender: Address, body: bytes) -> Empty:
        """Stores the blocks of a CAR, or no block if the CAR is malformed.  Raises RefusedError."""
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
