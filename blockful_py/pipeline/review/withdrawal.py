# SPDX-License-Identifier: Apache-2.0
"""Reviews a withdrawal, by which models lose their weights because their owners did not answer in time."""

from __future__ import annotations

from collections.abc import Sequence

from blockful_py.errors import EarlyError, RefusedError
from blockful_py.record.model_node import ModelNode
from blockful_py.record.request_state import RequestStanding


def review_withdrawal(nodes: Sequence[ModelNode], status: RequestStanding | None) -> None:
    """Checks that each withdrawal is due.

    Raises RefusedError if one is not; EarlyError if its owner has less than half of its time left, since this
    member's node may be behind the leader's.

    `status`: state of the admitted request; None in a federation without filed requests.
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
