# SPDX-License-Identifier: Apache-2.0
"""Reviews a withdrawal: models lose their weights because their owners did not do their part of a request."""

from __future__ import annotations

from collections.abc import Sequence

from blockful_py.errors import EarlyError, RefusedError
from blockful_py.record.model_node import ModelNode
from blockful_py.record.request_state import RequestStanding


def review_withdrawal(nodes: Sequence[ModelNode], status: RequestStanding | None) -> None:
    """Raises RefusedError for a withdrawal that is not due; EarlyError where an owner has less than half of
    its time left on this member's own node, which may be behind the leader's.

    `status`: of the admitted request, whose method members sign for; None where none is filed.
    """
    if status is None or not status.rules.withdraws:
        raise RefusedError("this federation withdraws no model (unlearning.unanswered)")
    over = status.unanswered()
    for node in nodes:
        if node.name not in over:
            early = EarlyError if status.presses((node.name,)) else RefusedError
            raise early(f"the owner of model {node.name} still has time to do its part")
        current = status.record[node.name].node
        if (node.statement, node.signature) != (current.statement, current.signature):
            raise RefusedError(f"model {node.name} is withdrawn with another statement than its owner's")
