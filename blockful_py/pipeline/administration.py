# SPDX-License-Identifier: Apache-2.0
"""Committee decisions other than on models: epochs, readers, auditors, participants, the federation file.

Appointed members, who live in this process, vote as their one operator decides.  A member in a process of its
own votes for a motion once its operator has agreed to it (`blockful committee agree`).
"""

from __future__ import annotations

from blockful_py.committee.motions import Matter
from blockful_py.committee.service.key_leader import Generated
from blockful_py.errors import BlockfulError, ContractError, QuorumError
from blockful_py.pipeline.coordination.motions import FileChanges, OpenMotions, carry_out, certified
from blockful_py.pipeline.coordination.remote_committee import ReachableMember, members_at
from blockful_py.pipeline.coordination.rotation import Pause, Rotated, Tell, a_second, rotate
from blockful_py.pipeline.jobs.context import FederationContext
from blockful_py.pipeline.operated import OperatedRun
from blockful_py.pipeline.run.accounts import provide
from blockful_py.pipeline.run.operations import Counter
from blockful_py.record.file_change import Difference
from blockful_py.types import Address, Point


class Administration:
    """Puts motions to the members and carries out their decisions."""

    def __init__(self, context: FederationContext) -> None:
        self._context = context
        self._open = OpenMotions(context.run.motions)

    def set_barred(self, account: Address, barred: bool) -> None:
        """Bars or readmits a reader.  Raises ContractError NothingToChange; QuorumError, with advice."""
        self._carry(Matter.BAR if barred else Matter.READMIT, account)

    def set_auditor(self, account: Address, key: Point | None) -> None:
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
            found = keys.keyring.find(current)
            keys.auditors.wrap({uri: found[uri] for uri in current})

    def admit_participant(self, account: Address) -> None:
        """Lets an account join a federation that is not open.  Raises as `set_barred`."""
        self._carry(Matter.ADMIT_PARTICIPANT, account)

    def set_participant_barred(self, account: Address, barred: bool) -> None:
        """Bars or readmits a participant.  Raises as `set_barred`."""
        self._carry(Matter.BAR_PARTICIPANT if barred else Matter.READMIT_PARTICIPANT, account)

    def change_file(self, data: bytes) -> tuple[Difference, ...]:
        """Puts a new federation file on the chain, which all members hold by then; returns the differences.

        The public files that it names must be in this run's store or at a member.

        Raises RefusedError for a change that is not allowed, otherwise as `set_barred`.
        """
        context, store = self._context, self._context.stores.live
        changes = FileChanges(context.opened)
        changes.require_party()
        digest = store.add(data).digest
        changed = changes.review(digest)
        context.hand_out(tuple(changes.files(digest)))
        self._carry(Matter.CHANGE_FILE, digest)
        return changed

    def _carry(self, matter: Matter, subject: bytes, key: Point | None = None) -> None:
        contracts, coordinator = self._context.contracts, self._context.session(Counter()).coordinator
        epoch = contracts.committee.current_epoch()
        motion = self._open.find(epoch, matter, subject, key)
        try:
            action = certified(contracts, coordinator, motion)
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


class Epochs:
    """Starts the next epoch of an open run's committee and lists its reachable members."""

    def __init__(self, opened: OperatedRun) -> None:
        self._opened = opened

    def reachable(self, needed: int | None = None) -> dict[str, ReachableMember | BlockfulError]:
        """The member at each URL of `committee.members`, or the error of reaching it.

        All are asked at once.  Once `needed` have answered, the others get as much time again plus a second.
        """
        return self._opened.leader.remote().reachable(needed)

    def fund(self) -> tuple[bytes, ...]:
        """Funds the empty accounts of reachable members on development chains; returns those accounts."""
        nodes, interface = self._opened.nodes, self._opened.contracts.live.interface
        senders = {id(node): node for node in (nodes.live_sender, nodes.archive_sender)}.values()
        funded = []
        for account in (each.identity.account for each in members_at(self.reachable())):
            given = [provide(sender, interface, account) for sender in senders]
            funded += [account] * any(given)
        return tuple(funded)

    def hand_over(self) -> Generated:
        """Starts a new epoch with the members at `committee.members`, who generate its key.

        A repeated call after a crash continues.  Raises QuorumError when too few members are available.
        """
        _ = self._opened.contracts.appointed
        leader = self._opened.context.leader
        leader.follow()
        return leader.hand_over()

    def rotate(self, pause: Pause | None = None, tell: Tell | None = None) -> Rotated:
        """Has the chain elect the next committee, which generates its key; the archive chain follows.

        `pause` waits between two looks at the chain, by default a second; `tell` is called for each phase.  A
        repeated call after a crash continues, from any process.  Raises QuorumError when an election cannot
        be opened yet or is void, or too few of the elected are available.
        """
        opened = self._opened
        _ = opened.contracts.elected
        rotated, contracts = rotate(
            opened.run,
            opened.nodes,
            opened.contracts,
            opened.leader.remote(),
            pause or a_second,
            tell or (lambda phase: None),
        )
        opened.renew(contracts)
        return rotated
