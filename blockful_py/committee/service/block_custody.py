# SPDX-License-Identifier: Apache-2.0
"""A member's custody of blocks that peers and leaders push: it says which it has, and keeps others.

What arrives is bounded by sender (`storage.arrivals`), and goes unless a file that needs it is kept in time.
"""

from __future__ import annotations

from blockful_py.committee import codec, wire
from blockful_py.committee.service.limits import MAX_NAMES
from blockful_py.committee.service.messages import BlockNames, Empty, MessageKind
from blockful_py.errors import MessageError, RefusedError, StorageError
from blockful_py.storage import car
from blockful_py.storage.arrivals import Arrivals
from blockful_py.storage.store import ContentStore
from blockful_py.storage.writers import Writers


class BlockCustody:
    """Answers messages about blocks."""

    KINDS = frozenset({MessageKind.HAS_BLOCKS, MessageKind.KEEP_BLOCKS})

    def __init__(self, store: ContentStore, arrivals: Arrivals) -> None:
        self._store = store
        self._arrivals = arrivals

    def answer(self, kind: MessageKind, message: wire.Message) -> BlockNames | Empty:
        """Raises RefusedError or MessageError."""
        try:
            if kind is MessageKind.KEEP_BLOCKS:
                return self._keep(message)
            return self._had(message)
        except StorageError as error:
            raise RefusedError(f"the blocks cannot be kept: {error}") from None

    def _had(self, message: wire.Message) -> BlockNames:
        """The blocks that a kept file has or this sender has pushed; the latter count as fresh."""
        asked, sender = codec.decode(BlockNames, message.body).blocks, message.sender.hex()
        if len(asked) > MAX_NAMES:
            raise MessageError(f"{len(asked)} blocks are named at once, {MAX_NAMES} are allowed.")
        return BlockNames(
            tuple(
                uri for uri in asked if self._store.has_kept_block(uri) or self._arrivals.renew(sender, uri)
            )
        )

    def _keep(self, message: wire.Message) -> Empty:
        """Keeps no block of a body that is malformed anywhere."""
        blocks, sender = [*car.read(message.body)], message.sender.hex()
        with Writers(lambda uri, parts: self._arrivals.put(sender, uri, b"".join(parts))) as writers:
            for uri, block in blocks:
                writers.put(uri, (block,))
        return Empty()
