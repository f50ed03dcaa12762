# SPDX-License-Identifier: Apache-2.0
"""A leader that behaves like the pipeline, and its invariants."""

from __future__ import annotations

from blockful_py.committee.certified import CertifiedProposal, CertifiedPublication
from blockful_py.committee.coordinator import Coordinator
from blockful_py.committee.drafting import Replacement
from blockful_py.errors import (
    ContractError,
    QuorumError,
)
from blockful_py.types import Certificate, Position
from tests.fuzzing.byzantine_world import (
    AT_ONCE,
    NOW,
    VOTING,
    World,
)
from tests.fuzzing.ledgers import MAX_DRIFT, ViolationError


class HonestLeader:
    """Leads like the pipeline; its clock is `drift` seconds ahead of the chains'."""

    def __init__(self, world: World, drift: int) -> None:
        self.world = world
        self.drift = drift
        members = [*world.remote(world.leader).values()]
        self.coordinator = Coordinator(
            members,
            world.shares[0].public,
            world.roster,
            VOTING,
            world.live,
            world.archive,
            salt=world.rng.randbytes(16),
            keepers=members,
            leader=world.leader.address,
        )

    def decide(self, redaction: bool) -> bool:
        """Whether the decision was executed.  Raises ViolationError when it had to be."""
        world = self.world
        now = NOW + self.drift
        absent = {index for index, place in world.places.items() if not place.reachable}
        before = len(world.archive.executed), len(world.live.executed)
        try:
            certified = self._certified(redaction, now)
            world.certified(certified.certificate, world.archive.executor)
            self.coordinator.hand_over(certified)
            world.archived(certified)
            released = self.coordinator.release(self._decision(certified))
            world.certified(released, world.live.executor)
            world.settle(certified, released)
        except QuorumError as error:
            if len(world.faulty | absent) <= world.most_faulty or not str(error).strip():
                raise ViolationError(f"an honest leader with a quorum got {error}") from None
            return False
        except ContractError as error:
            after = len(world.archive.executed), len(world.live.executed)
            if self.drift <= MAX_DRIFT or before != after:
                raise ViolationError(f"an honest leader was refused by a chain: {error}") from None
            return False
        return True

    def check(self) -> None:
        """Checks the blame: raises ViolationError when an honest member is blamed, or a liar is not."""
        world, reasons = self.world, self.coordinator.excluded.reasons
        present = {index for index, place in world.places.items() if place.reachable}
        for index, reason in reasons.items():
            excused = index not in present or "the live chain's certificate follows" in reason
            if index not in world.faulty and ("check out" in reason or not excused):
                raise ViolationError(f"honest member {index} is blamed: {reason}")
        for index in world.faulty & present:
            liar = world.places[index].liar
            wrong = {*liar.wrong} if liar else set()
            if (wrong & AT_ONCE or (wrong and len(world.faulty) == 1)) and index not in reasons:
                names = sorted(kind.name for kind in wrong)
                raise ViolationError(f"member {index} lied in {names} and is not named")

    def _certified(self, redaction: bool, now: int) -> CertifiedProposal:
        world, proposer = self.world, self.world.proposer()
        if not redaction:
            return self.coordinator.certify_publication(proposer.publication(world.models(), now))
        places = world.rng.sample([Position(1, 0), Position(1, 1)], world.rng.randint(1, 2))
        chosen = [Replacement(place, world.uri()) for place in places]
        return self.coordinator.certify_redaction(proposer.redaction(chosen, now))

    def _decision(self, certified: CertifiedProposal) -> Certificate:
        if isinstance(certified, CertifiedPublication):
            return certified.live.certificate
        return certified.live[0].certificate
