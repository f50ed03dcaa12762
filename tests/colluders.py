# SPDX-License-Identifier: Apache-2.0
"""A federation's committee outside the federation, and members that check nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from blockful_py.chain.settlement import ARCHIVE, LIVE, Executed, SettlementContract, send_missing, unrecorded
from blockful_py.committee.certificate_signer import CertificateSigner
from blockful_py.committee.certified import CertifiedRedaction
from blockful_py.committee.coordinator import Coordinator
from blockful_py.committee.drafting import Proposer, Replacement
from blockful_py.committee.member import Member
from blockful_py.committee.memory import Memory, VolatileMemory
from blockful_py.committee.pledges import (
    AttestedNonces,
    CollisionSession,
    PledgedNonces,
    SignedAttestation,
    pairs_digest,
)
from blockful_py.committee.proposals import PublicationProposal, RedactionDraft
from blockful_py.committee.protocols import Reviewer, Voter
from blockful_py.crypto import eip712
from blockful_py.crypto.roster import Roster, bits
from blockful_py.crypto.threshold.keys import KeyShare
from blockful_py.crypto.workspace import Workspace
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs.journaled_sends import settlement_of
from blockful_py.pipeline.run.contracts import key_shares
from blockful_py.pipeline.run.identities import Identities
from blockful_py.record.model_node import ModelNode
from blockful_py.types import Point, Position


class Blind:
    """A reviewer that accepts everything."""

    def review_publication(self, proposal: PublicationProposal) -> None:
        pass

    def review_redaction(self, draft: RedactionDraft) -> None:
        pass


def session_for(
    draft: RedactionDraft, signers: Sequence[int], salt: bytes = bytes(32), leader: bytes = bytes(20)
) -> CollisionSession:
    """A session for the collisions of a draft."""
    return CollisionSession(draft.epoch, draft.proposal, draft.digest(), leader, bits(signers), salt)


def attested_by(
    members: Sequence[Voter], session: CollisionSession, pledged: Sequence[PledgedNonces]
) -> AttestedNonces:
    """The nonces with the attestations of all `members`."""
    pledges = [each.pledge for each in pledged]
    sums = summed(pledged)
    digest = pairs_digest(sums)
    found = [SignedAttestation(each.index, each.attest(session, pledges, digest)) for each in members]
    return AttestedNonces(session, tuple(each.pledge for each in pledges), sums, tuple(found))


def summed(pledged: Sequence[PledgedNonces]) -> tuple[tuple[Point, Point], ...]:
    """The sums of signers' nonces, for each message."""
    workspace = Workspace(len(pledged))
    columns = zip(*(each.commitments.pairs for each in pledged), strict=True)
    return tuple(
        (workspace.total([d for d, _ in column]), workspace.total([e for _, e in column]))
        for column in columns
    )


@dataclass(frozen=True)
class Conspiracy:
    """All secrets of the committee of `federation`."""

    federation: Federation
    identities: Identities
    shares: tuple[KeyShare, ...]

    @classmethod
    def of(cls, federation: Federation) -> Conspiracy:
        contracts = federation.contracts
        chain_ids = (contracts.live.chain_id, contracts.archive.chain_id)
        identities = Identities(federation.settings.seed, chain_ids)
        return cls(federation, identities, key_shares(federation.settings, identities))

    def domain(self) -> eip712.Domain:
        committee = self.federation.contracts.committee
        return eip712.Domain(committee.chain_id, committee.address)

    def member(
        self,
        share: KeyShare,
        reviewer: Reviewer,
        kind: type[Member] = Member,
        memory: Memory | None = None,
    ) -> Member:
        contracts = self.federation.contracts
        rng, memory = self.identities.rng("test", share.index), memory or VolatileMemory()
        voter = CertificateSigner(
            self.identities.voter(share.index), self.roster(), self.domain(), memory, rng
        )
        return kind(voter, share, contracts.live, contracts.archive, reviewer, rng, memory)

    def roster(self) -> Roster:
        committee = self.federation.contracts.committee
        return committee.roster(committee.current_epoch())[0]

    def members(self, reviewer: Reviewer) -> list[Member]:
        return [self.member(share, reviewer) for share in self.shares]

    def coordinator(self, members: Sequence[Member]) -> Coordinator:
        contracts = self.federation.contracts
        return Coordinator(
            members,
            self.shares[0].public,
            self.roster(),
            self.domain(),
            contracts.live,
            contracts.archive,
        )

    def proposer(self) -> Proposer:
        contracts = self.federation.contracts
        return Proposer(
            contracts.live,
            contracts.archive,
            self.shares[0].group_key,
            contracts.committee.current_epoch(),
            self.federation.settings.chain.chunk_models,
        )

    def draft(self, nodes: dict[Position, ModelNode], later: int = 0) -> RedactionDraft:
        """A redaction to `nodes`, with their bytes in the live store, `later` by this many seconds."""
        store, archive = self.federation.stores.live, self.federation.contracts.archive
        now = archive.records(archive.length() - 1, 1)[0].timestamp
        replacements = [Replacement(place, store.add(node.to_bytes())) for place, node in nodes.items()]
        return self.proposer().redaction(replacements, now + later)

    def execute(self, certified: CertifiedRedaction, coordinator: Coordinator) -> None:
        """Writes a redaction to both chains."""
        assert list(self.steps(certified, coordinator))

    def steps(self, certified: CertifiedRedaction, coordinator: Coordinator) -> Iterator[Executed]:
        """Writes a redaction to the archive, then to the live chain, one transaction at a time."""
        contracts = self.federation.contracts
        sides: dict[str, SettlementContract] = {ARCHIVE: contracts.archive, LIVE: contracts.live}
        settlement = settlement_of(contracts, certified, "collusion")
        return send_missing(settlement, sides, unrecorded, coordinator.release)

    def collude(self, nodes: dict[Position, ModelNode]) -> None:
        """Has all members redact to `nodes` without checks."""
        coordinator = self.coordinator(self.members(Blind()))
        self.execute(coordinator.certify_redaction(self.draft(nodes)), coordinator)
