# SPDX-License-Identifier: Apache-2.0
"""A member's part in collision sessions: it pledges nonces, attests pledges and signs with attested nonces.

A signer uses only nonces that a quorum attests, and a member attests one use of each generation of a signer's
nonces.  Two quorums share an honest member, so a signer never answers twice with one pair, even if it loses
its memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from blockful_py.committee.certificate_signer import CertificateSigner
from blockful_py.committee.memory import MAX_NUMBER, Memory, ballot_of
from blockful_py.committee.pledges import (
    AttestedNonces,
    CollisionSession,
    Pledge,
    PledgedNonces,
    SignedPledge,
    attestation_digest,
    pairs_digest,
)
from blockful_py.crypto import eip712
from blockful_py.crypto.threshold.keys import KeyShare
from blockful_py.crypto.threshold.messages import AggregatedNonces, SignatureShares, Task
from blockful_py.crypto.threshold.signing import ThresholdSigner
from blockful_py.errors import CheaterError, RefusedError
from blockful_py.types import Bytes32, Rng


class Cosigner:
    """Signs collisions with one share, together with other members of the roster.

    The caller checks the tasks, as for `ThresholdSigner`.
    """

    def __init__(self, voter: CertificateSigner, share: KeyShare, rng: Rng, memory: Memory) -> None:
        """Signs collisions with `share`, and pledges and attestations with the same member's `voter`."""
        self._voter = voter
        self._share = share
        self._signer = ThresholdSigner(share, rng)
        self._roster = voter.roster.members
        self._domain = voter.domain
        self._memory = memory

    def commit(self, session: CollisionSession, count: int) -> PledgedNonces:
        """Round 1: pledges nonces for `count` messages.

        Raises RefusedError unless this member is one of the session's signers, and NonceReuseError when the
        session has begun.
        """
        index = self._share.index
        if index not in session.indices:
            raise RefusedError(f"member {index} is not among the signers {list(session.indices)}")
        identifier = session.identifier(self._domain)
        generation = self._memory.use_session(identifier)
        commitments = self._signer.commit(identifier, count, generation, session.leader)
        pledge = Pledge(identifier, index, generation, pairs_digest(commitments.pairs))
        signed = self._voter.sign(eip712.digest(self._domain, pledge))
        return PledgedNonces(commitments, generation, signed)

    def attest(self, session: CollisionSession, pledges: Sequence[SignedPledge], nonces: Bytes32) -> bytes:
        """Attests (64 bytes) that the member knows no other use of the pledged nonces.

        Args:
            nonces: digest of their sums, by `pairs_digest`; other sums are another use.

        Raises:
            RefusedError: the pledges are not by the session's signers.
            CheaterError: names signers with a forged pledge or a generation pledged before.
        """
        identifier = session.identifier(self._domain)
        pledged = [each.pledge for each in pledges]
        self._require_complete(session, identifier, pledged)
        forged = [
            each.pledge.signer
            for each in pledges
            if not each.is_by(self._roster[each.pledge.signer - 1], self._domain)
        ]
        if forged:
            raise CheaterError(forged, "the pledge")
        ballot = ballot_of(self._domain, session.epoch, session.proposal)
        digest = attestation_digest(self._domain, identifier, pledged, nonces)
        uses = [(each.signer, each.generation) for each in pledged]
        again = self._memory.attest(ballot, uses, digest)
        if again:
            raise CheaterError(again, "the generation of nonces, which was pledged before,")
        return self._voter.sign(digest)

    def sign(self, tasks: Sequence[Task], nonces: AttestedNonces) -> SignatureShares:
        """Round 2: the member's shares of all collisions, once a quorum has attested all nonces.

        Raises RefusedError without a quorum or for a session of others, and the errors of
        `ThresholdSigner.sign`.
        """
        session, index = nonces.session, self._share.index
        identifier = session.identifier(self._domain)
        self._require_complete(session, identifier, nonces.pledges)
        digest = attestation_digest(self._domain, identifier, nonces.pledges, pairs_digest(nonces.sums))
        self._voter.require_attested(nonces.attestations, digest)
        own = [each.generation for each in nonces.pledges if each.signer == index]
        if not own:
            raise RefusedError(f"member {index} is not among the signers {list(session.indices)}")
        aggregated = AggregatedNonces(identifier, session.indices, nonces.sums)
        return self._signer.sign(tasks, aggregated, session.leader, own[0])

    def _require_complete(
        self, session: CollisionSession, identifier: bytes, pledges: Sequence[Pledge]
    ) -> None:
        """Checks that each signer has one pledge for this session, in order.  Raises RefusedError."""
        signers = session.indices
        if not (
            len(signers) >= self._share.threshold
            and signers[-1] <= len(self._roster)
            and [each.signer for each in pledges] == list(signers)
            and all(each.session == identifier and 0 < each.generation <= MAX_NUMBER for each in pledges)
        ):
            raise RefusedError("the pledges are not by enough signers of this session")
