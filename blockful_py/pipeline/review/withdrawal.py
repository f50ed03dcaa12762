# SPDX-License-Identifier: Apache-2.0
"""Reviews a withdrawal: models lose their weights because their owners did not do their part of a request."""

from __future__ import annotations

from collections.abc import Sequence

from blockful_py.chain.participant_registry import ParticipantRegistryContract
from blockful_py.errors import RefusedError
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.model_node import ModelNode, Request
from blockful_py.record.parts import unanswered


def review_withdrawal(
    nodes: Sequence[ModelNode],
    request: Request,
    catalogue: Catalogue,
    participants: ParticipantRegistryContract,
    blocks: int | None,
) -> None:
    """Raises RefusedError unless the time of each model's owner is over on this member's own node.

    `blocks`: see `unanswered`; None where this federation withdraws no model.
    """
    if blocks is None:
        raise RefusedError("this federation withdraws no model (unlearning.unanswered)")
    now = participants.node.block_number()
    over = {
        name
        for filed in participants.filed_requests()
        for name in unanswered(catalogue, request, filed, blocks, now)
    }
    for node in nodes:
        if node.name not in over:
            raise RefusedError(f"the owner of model {node.name} still has time to do its part")
        current = catalogue[node.name].node
        if (node.statement, node.signature) != (current.statement, current.signature):
            raise RefusedError(f"model {node.name} is withdrawn with another statement than its owner's")
