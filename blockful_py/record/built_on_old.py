# SPDX-License-Identifier: Apache-2.0
"""Models that still build on data which a request made others forget."""

from __future__ import annotations

from collections.abc import Iterable

from blockful_py.record.catalogue import Catalogue
from blockful_py.record.request_state import RequestStanding


def built_on_old(status: RequestStanding, catalogue: Catalogue) -> tuple[str, ...]:
    """Later models that still build on data to be forgotten, and that the request does not reach.

    They were trained from versions that the request replaced or from such models, or came back after its
    decision.  Another request is needed for them, signed by their owners or the owners of its starts.
    """
    old: dict[str, None] = {}
    for name in catalogue.graph.topological_order():
        placed = catalogue[name]
        earlier = placed.position.height <= status.filed.height and name not in status.decided_without
        if earlier or name not in catalogue.with_weights:
            continue
        reached = any(each.request.forget == status.request.forget for each in placed.answers)
        if not reached and (
            name in status.decided_without
            or any(_is_old(status, each.name, each.version, old) for each in placed.node.statement.in_use)
        ):
            old[name] = None
    return tuple(old)


def _is_old(status: RequestStanding, reference: str, version: int, old: Iterable[str]) -> bool:
    if reference in old:
        return True
    answer = status.record[reference].answer_to(status.request) if reference in status.affected else None
    return answer is not None and version < answer.version
