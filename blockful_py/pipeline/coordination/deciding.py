# SPDX-License-Identifier: Apache-2.0
"""Has the committee decide whether it admits a filed request."""

from __future__ import annotations

from blockful_py.committee.coordinator import Coordinator
from blockful_py.committee.motions import Motion
from blockful_py.errors import ContractError
from blockful_py.ledger.signed import Executor
from blockful_py.pipeline.coordination.motions import carry_out
from blockful_py.pipeline.run.contracts import Contracts

OVERTAKEN = frozenset({"RequestNotWaiting", "ChunkOutOfOrder"})
"""Contract errors when another leader has sent the decision first."""


def decide_request(contracts: Contracts, coordinator: Coordinator, number: int, admitted: bool) -> None:
    """Admits or dismisses a request; does nothing if another leader has sent the decision first.

    Raises QuorumError, with the members' reasons, when too few agree.
    """
    registry, epoch = contracts.participants, contracts.committee.current_epoch()
    motion = Motion.about_request(epoch, number, registry.filed(number).content, admitted)
    executor = Executor(registry.chain_id, registry.address)
    action = coordinator.certify_motion(motion, motion.leaf(contracts), executor)
    try:
        carry_out(contracts, motion, action)
    except ContractError as error:
        if error.name not in OVERTAKEN:
            raise
    registry.node.await_settled()
