# SPDX-License-Identifier: Apache-2.0
"""Reviews times: a proposal's, whose leader's clock may be wrong, and a withdrawal's, perhaps early."""

from __future__ import annotations

import time
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime

from blockful_py.committee.proposals import ArchiveChunk
from blockful_py.errors import EarlyError, RefusedError
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.model_node import ModelNode
from blockful_py.record.reach import starts_of
from blockful_py.record.request import Request
from blockful_py.record.request_state import RequestStanding

MAX_DRIFT = 15 * 60
"""Seconds by which the contracts accept a time ahead of the chain's (MAX_DRIFT there)."""


def require_timely(archive: Sequence[ArchiveChunk], newest: int) -> None:
    """Checks the archive records' times.

    Raises EarlyError for a time that the contracts would refuse, or that is so old that the decision would
    soon be given up.

    `newest`: time of the chains' newest block, which may be old if blocks come only with transactions; then
    the member's own clock counts.
    """
    latest = max(newest, int(time.time())) + MAX_DRIFT
    for chunk in archive:
        if not newest - MAX_DRIFT <= chunk.timestamp <= latest:
            raise EarlyError(
                f"the proposal's time is {_shown(chunk.timestamp)}, the chains' is {_shown(newest)}: set the "
                "clock of the machine that leads"
            )


def _shown(seconds: int) -> str:
    """A time of any size, even one that no date can represent."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"{seconds} s"


def review_withdrawal_of_adopted(
    nodes: Sequence[ModelNode], request: Request, affected: AbstractSet[str], catalogue: Catalogue
) -> None:
    """Checks that a request withdraws every adopted model that its data sets reached.

    Raises RefusedError, also for a changed statement.
    """
    reached = affected | {*starts_of(catalogue, request.datasets)}
    left = sorted((reached & catalogue.with_weights.keys()) - {node.name for node in nodes})
    if left:
        raise RefusedError(f"{', '.join(left)} would not be withdrawn")
    for node in nodes:
        _require_unchanged(node, catalogue)


def _require_unchanged(node: ModelNode, record: Catalogue) -> None:
    current = record[node.name].node
    if (node.statement, node.signature) != (current.statement, current.signature):
        raise RefusedError(f"model {node.name} is withdrawn with another statement than its owner's")


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
        _require_unchanged(node, status.record)
