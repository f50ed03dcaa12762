# SPDX-License-Identifier: Apache-2.0
"""Earlier requests, read from the record of the models' versions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from blockful_py.errors import RunError
from blockful_py.forget import Forget
from blockful_py.ledger.protocols import Store
from blockful_py.record.catalogue import RecordReaders
from blockful_py.record.model_node import MAX_NODE_BYTES, ModelNode, PlacedNode, parse_node
from blockful_py.record.request import Request
from blockful_py.types import Position

Forgets = tuple[Forget, ...]
"""Forgotten data, oldest request first, without duplicates."""


class RequestHistory:
    """The requests that changed models.

    Its methods raise RunError when the archive lacks a version, StorageError when its node cannot be read.
    """

    def __init__(self, record: RecordReaders, store: Store) -> None:
        """Reads the record; `store`: the archive's store."""
        self._catalogue = record.catalogue
        self._store = store
        self._archived = {
            (each.record.position, each.record.version): each.record.uri for each in record.archive.read()
        }

    def earlier_forgets(self, placed: Iterable[PlacedNode], request: Request) -> dict[str, Forgets]:
        """By model, the data on which this request must not train it.

        This is data that other requests made the model forget, and data that its owner opted out of.
        """
        owners = self._opted_out(request)
        return {
            each.node.name: _once(
                [
                    *(earlier.forget for earlier in self.requests(each) if earlier != request),
                    *owners.get(each.node.statement.user, ()),
                ]
            )
            for each in placed
        }

    def opted_out(self) -> dict[int, Forgets]:
        """By user, the data that completed requests made its own models forget; never trained on again."""
        return self._opted_out(None)

    def requests(self, placed: PlacedNode) -> Iterator[Request]:
        """The requests that changed a model, oldest first."""
        for number in range(1, placed.version + 1):
            node = placed.node if number == placed.version else self.version(placed.position, number)
            if node.redaction is not None:
                yield node.redaction.request

    def version(self, position: Position, number: int) -> ModelNode:
        """An archived version of the model at `position`."""
        if (position, number) not in self._archived:
            raise RunError(f"version {number} of the model at {position} is not in the archive.")
        return parse_node(self._store.read(self._archived[position, number], MAX_NODE_BYTES))

    def _opted_out(self, other_than: Request | None) -> dict[int, Forgets]:
        forgets: dict[int, list[Forget]] = {}
        for name, placed in self._catalogue.read().models.items():
            for request in self.requests(placed):
                if request != other_than and name in {start.name for start in request.starts}:
                    forgets.setdefault(placed.node.statement.user, []).append(request.forget)
        return {user: _once(asked) for user, asked in sorted(forgets.items())}


def _once(forgets: Iterable[Forget]) -> Forgets:
    return tuple(dict.fromkeys(forgets))
