# SPDX-License-Identifier: Apache-2.0
"""What models and users were made to forget before, as the record of the models' versions says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from blockful_py.errors import RunError
from blockful_py.forget import Forget
from blockful_py.pipeline.jobs.context import Workbench
from blockful_py.record.model_node import ModelNode, PlacedNode, Request, parse_node
from blockful_py.types import Position

Forgets = tuple[Forget, ...]
"""Oldest first, each once."""


def earlier_forgets(bench: Workbench, placed: Iterable[PlacedNode], request: Request) -> dict[str, Forgets]:
    """What the models are not to be trained on in this request: what other requests made each of them
    forget, and what its owner opted out of.

    Raises RunError when the archive lacks a version, StorageError when its node cannot be read.
    """
    history = _History(bench)
    owners = _opted_out(bench, history, request)
    return {
        each.node.name: _once(
            [
                *(asked.forget for asked in history.requests(each) if asked != request),
                *owners.get(each.node.statement.user, ()),
            ]
        )
        for each in placed
    }


def opted_out(bench: Workbench) -> dict[int, Forgets]:
    """What each user asked to be forgotten at a model of its own, in requests that were carried out there:
    nothing is trained on it again.  Raises as `earlier_forgets`."""
    return _opted_out(bench, _History(bench), None)


class _History:
    """The requests that changed models."""

    def __init__(self, bench: Workbench) -> None:
        self._store = bench.archive_store
        self._archived = {
            (each.record.position, each.record.version): each.record.uri for each in bench.archive.read()
        }

    def requests(self, placed: PlacedNode) -> Iterator[Request]:
        """Those that changed a model, oldest first."""
        for number in range(1, placed.version + 1):
            node = placed.node if number == placed.version else self._version(placed.position, number)
            if node.redaction is not None:
                yield node.redaction.request

    def _version(self, position: Position, number: int) -> ModelNode:
        if (position, number) not in self._archived:
            raise RunError(f"version {number} of the model at {position} is not in the archive.")
        return parse_node(self._store.read(self._archived[position, number]))


def _opted_out(bench: Workbench, history: _History, other_than: Request | None) -> dict[int, Forgets]:
    found: dict[int, list[Forget]] = {}
    for name, placed in bench.catalogue.read().models.items():
        for request in history.requests(placed):
            if request != other_than and name in {start.name for start in request.starts}:
                found.setdefault(placed.node.statement.user, []).append(request.forget)
    return {user: _once(forgets) for user, forgets in sorted(found.items())}


def _once(forgets: Iterable[Forget]) -> Forgets:
    return tuple(dict.fromkeys(forgets))
