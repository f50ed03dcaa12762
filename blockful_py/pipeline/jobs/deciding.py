# SPDX-License-Identifier: Apache-2.0
"""Has the committee decide whether it admits a filed request."""

from __future__ import annotations

from blockful_py.committee.certificates import Executor
from blockful_py.committee.motions import Motion
from blockful_py.errors import ContractError
from blockful_py.pipeline.coordination.motions import carry_out
from blockful_py.pipeline.jobs.context import FederationContext
from blockful_py.pipeline.review.admission import Admission
from blockful_py.pipeline.run.operations import Counter


def admission_of(context: FederationContext) -> Admission:
    """A party's own look at requests that are not decided."""
    run = context.run
    participants, attested = context.contracts.participants, run.settings.committee.attested
    return Admission(participants, context.docket, attested, run.own_methods)


def decide_request(context: FederationContext, number: int, admitted: bool) -> None:
    """Admits a request, or dismisses it; does nothing where another leader's decision came first.

    Raises QuorumError, with the members' reasons, when too few agree.
    """
    contracts, coordinator = context.contracts, context.session(Counter()).coordinator
    motion = Motion.about_request(contracts.committee.current_epoch(), number, admitted)
    registry = contracts.participants
    executor = Executor(registry.chain_id, registry.address)
    action = coordinator.certify_motion(motion, motion.leaf(contracts), executor)
    try:
        carry_out(contracts, motion, action)
    except ContractError as error:
        if error.name not in ("RequestNotWaiting", "ChunkOutOfOrder"):
            raise
    registry.node.await_settled()
