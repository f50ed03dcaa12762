# SPDX-License-Identifier: Apache-2.0
"""Decisions of the committee beside models: which readers are barred, and who audits.

Members of this process vote as their one operator decides.  A member that is a process of its own votes for
a motion once its operator has agreed to it (`blockful committee agree`).
"""

from __future__ import annotations

from blockful_py.committee.certificates import Executor
from blockful_py.committee.motions import Matter
from blockful_py.errors import ContractError, QuorumError
from blockful_py.pipeline.coordination.motions import OpenMotions, carry_out
from blockful_py.pipeline.jobs.context import FederationContext
from blockful_py.pipeline.run.operations import Counter
from blockful_py.types import Point


class Administration:
    """Puts motions to the members and carries out their decisions."""

    def __init__(self, context: FederationContext) -> None:
        self._context = context
        self._open = OpenMotions(context.run.motions)

    def set_barred(self, account: bytes, barred: bool) -> None:
        """Bars or readmits a reader.

        Raises ContractError NothingToChange; QuorumError, with advice, when too few members agree.
        """
        self._carry(Matter.BAR if barred else Matter.READMIT, account, None)

    def set_auditor(self, account: bytes, key: Point | None) -> None:
        """Registers an auditor or replaces its key; None removes it.

        A new auditor gets the keys of all current versions; a removed one loses its wrapped keys.
        Raises ContractError; QuorumError, with advice, when too few members agree.
        """
        self._carry(Matter.REMOVE_AUDITOR if key is None else Matter.NAME_AUDITOR, account, key)
        keys = self._context.keys
        keys.auditors.drop(account)
        if key is not None:
            models = self._context.record.catalogue.read().with_weights.values()
            current = {placed.node.weights for placed in models}
            keys.auditors.wrap({uri: keys.keyring.find(uri) for uri in current})

    def _carry(self, matter: Matter, account: bytes, key: Point | None) -> None:
        contracts, coordinator = self._context.contracts, self._context.session(Counter()).coordinator
        epoch = contracts.committee.current_epoch()
        motion = self._open.find(epoch, matter, account, key)
        try:
            contract = contracts.readers if motion.about_reader else contracts.archive
            leaf = motion.leaf(contracts.readers, contracts.archive)
            action = coordinator.certify_motion(motion, leaf, Executor(contract.chain_id, contract.address))
        except QuorumError as error:
            raise QuorumError(
                f"{error}. Have the members' operators agree, each with `blockful committee agree "
                f"{self._open.path(motion)} FOLDER`, and do the same again."
            ) from None
        try:
            carry_out(contracts, motion, action)
        except ContractError:
            self._open.close(motion)
            raise
        self._open.close(motion)
