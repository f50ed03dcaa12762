# SPDX-License-Identifier: Apache-2.0
"""Reviews a withdrawal: models lose their weights because their owners did not do their part of a request."""

from __future__ import annotations

from collections.abc import Sequence

from blockful_py.errors import EarlyError, RefusedError
from blockful_py.record.model_node import ModelNode
from blockful_py.record.request_state import RequestStanding


def review_withdrawal(nodes: Sequence[ModelNode], standing: RequestStanding | None) -> None:
    """Raises RefusedError for a withdrawal that is not due; EarlyError where an owner has less than half of
    its time left on this member's own node, which may be behind the leader's.

    `standing`: of the admitted request, whose method members sign for; None where none is filed.
    """
    if standing is None or not standing.rules.withdraws:
        raise RefusedError("this federation withdraws no model (unlearning.unanswered)")
    over = standing.unanswered()
    for node in nodes:
        if node.name not in over:
            early = EarlyError if standing.presses((node.name,)) else RefusedError
            raise early(f"the owner of model {node.name} still has time to do its part")
        current = standing.record[node.name].node
        if (node.statement, node.signature) != (current.statement, current.signature):
            raise RefusedError(f"model {node.name} is withdrawn with another statement than its owner's")
