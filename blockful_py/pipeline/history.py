# SPDX-License-Identifier: Apache-2.0
"""What models were made to forget before, as the record of their versions says."""

from __future__ import annotations

from collections.abc import Iterable

from blockful_py.errors import RunError
from blockful_py.pipeline.model_node import ModelNode, PlacedNode, Request, parse_node
from blockful_py.pipeline.workbench import Workbench
from blockful_py.types import Position
from blockful_py.unlearning.forget import Forget


def earlier_forgets(
    bench: Workbench, placed: Iterable[PlacedNode], request: Request
) -> dict[str, tuple[Forget, ...]]:
    """What other requests than this one made each of the models forget, oldest first.

    Raises RunError when the archive lacks a version, StorageError when its node cannot be read.
    """
    archived = {(each.record.position, each.record.version): each.record.uri for each in bench.archive.read()}

    def version(position: Position, number: int) -> ModelNode:
        if (position, number) not in archived:
            raise RunError(f"version {number} of the model at {position} is not in the archive.")
        return parse_node(bench.archive_store.read(archived[position, number]))

    found = {}
    for each in placed:
        nodes = [*(version(each.position, number) for number in range(1, each.version)), each.node]
        requests = [node.redaction.request for node in nodes if node.redaction is not None]
        forgets = (asked.forget for asked in requests if asked != request)
        found[each.node.name] = tuple(dict.fromkeys(forgets))
    return found
