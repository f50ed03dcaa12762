# SPDX-License-Identifier: Apache-2.0
"""A member's voting key, which signs votes and shares of certificates."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

from blockful_py.committee.certificates import CommittedVote, Cosigning, attestation_of, pair_digest
from blockful_py.committee.memory import Ballot, Memory, ballot_of
from blockful_py.committee.pledges import Pledge, SignedAttestation, SignedPledge
from blockful_py.crypto import curve, eip712, multisignature, signature
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.multisignature import NoncePoints
from blockful_py.crypto.roster import Roster
from blockful_py.crypto.threshold.nonces import OWN_PROCESS, NonceStore, commitment, draw
from blockful_py.errors import CheaterError, RefusedError
from blockful_py.ledger.signed import digest_of
from blockful_py.types import Address, Bytes32, Rng

PENDING = 16
"""Maximum number of unused nonce pairs for one leader, which obtains one certificate at a time."""
PendingNonces = NonceStore[tuple[Ballot, NoncePoints]]
"""Pending nonces for certificates, keyed by ballot and points."""


class CertificateSigner:
    """Votes once on each proposal and helps to sign certificates of the content it voted for.

    A vote is stored in the memory before it is sent.  Pass the same `pending` to all signers that a process
    creates for one member.
    """

    def __init__(
        self,
        secret: int,
        roster: Roster,
        domain: eip712.Domain,
        memory: Memory,
        rng: Rng,
        pending: PendingNonces | None = None,
    ) -> None:
        """Signs with `secret` as a member of `roster`; `domain` is the EIP-712 domain of votes.

        Raises RefusedError when the key of `secret` is not in the roster.
        """
        self._leader = OWN_PROCESS
        self._secret = secret
        self.roster = roster
        self.domain = domain
        self._memory = memory
        self._rng = rng
        self._pending = PendingNonces(PENDING) if pending is None else pending
        key = curve.multiply_base(secret)
        if key not in roster.keys:
            raise RefusedError("this member has no seat in this epoch")
        self.index = roster.keys.index(key) + 1
        """1-based."""
        self.address = curve.address(key)

    def led_by(self, leader: Address) -> CertificateSigner:
        """A copy that answers another leader, whose nonces have a quota of their own (`NonceStore`)."""
        signer = copy(self)
        signer._leader = leader
        return signer

    def ballot(self, epoch: int, proposal: Bytes32) -> Ballot:
        """The ballot of a proposal.  Raises RefusedError when its epoch or identifier is out of range."""
        return ballot_of(self.domain, epoch, proposal)

    def sign(self, digest: Bytes32) -> bytes:
        """The member's own signature (64 bytes) of a digest."""
        return signature.sign(self._secret, digest)

    def vote(self, epoch: int, proposal: Bytes32, content: bytes) -> CommittedVote:
        """Votes on a content (32 bytes).

        Raises RefusedError when the member voted for other content of this proposal.
        """
        if self._memory.vote(self.ballot(epoch, proposal), content) != content:
            raise RefusedError(f"this member has voted for other content of 0x{proposal.hex()[:8]}")
        return self.recommit(epoch, proposal)

    def recommit(self, epoch: int, proposal: Bytes32) -> CommittedVote:
        """Repeats the vote with fresh nonces.

        Raises RefusedError when the member has not voted on the proposal.
        """
        ballot = self.ballot(epoch, proposal)
        content = self._content(ballot)
        digest = eip712.decision_digest(self.domain, epoch, proposal, content)
        generation = self._memory.use_session(keccak(digest + self._rng(32)))
        context = keccak(digest + generation.to_bytes(32, "big"))
        (pair,) = draw(self._secret, context, 1, self._rng)
        points = commitment(pair)
        self._pending.put(self._leader, (ballot, points), [pair])
        pledge = Pledge(digest, self.index, generation, pair_digest(points))
        signed = SignedPledge(pledge, self.sign(eip712.digest(self.domain, pledge)))
        return CommittedVote(self.sign(digest), points, signed)

    def attest(self, cosigning: Cosigning) -> bytes:
        """Attests (64 bytes) that the member knows no other use of a certificate's nonces.

        Raises RefusedError for forged votes or pledges, and CheaterError with the members that have pledged
        the same generation of nonces before.
        """
        self._require_voted(cosigning)
        digest = attestation_of(cosigning, self.domain)
        uses = [(each.pledge.signer, each.pledge.generation) for each in cosigning.pledges]
        again = self._memory.attest(self.ballot(cosigning.epoch, cosigning.proposal), uses, digest)
        if again:
            raise CheaterError(again, "the generation of nonces, which was pledged before,")
        return self.sign(digest)

    def cosign(self, cosigning: Cosigning) -> int:
        """The member's share of a certificate that a quorum voted for, with nonces that a quorum attests.

        Raises RefusedError for other content than the member's vote, and for forged or too few votes or
        attestations; NonceReuseError when its nonces are used.
        """
        ballot = self.ballot(cosigning.epoch, cosigning.proposal)
        certificate = cosigning.certificate
        if certificate.content_hash != self._content(ballot):
            raise RefusedError(f"this member has voted for other content of 0x{cosigning.proposal.hex()[:8]}")
        indices = self._require_voted(cosigning)
        if self.index not in indices:
            raise RefusedError("this member is not among the voters of the certificate")
        self.require_attested(cosigning.attestations, attestation_of(cosigning, self.domain))
        keys = [self.roster.keys[index - 1] for index in indices]
        points = cosigning.nonces[indices.index(self.index)]
        (pair,) = self._pending.take(self._leader, (ballot, points))
        digest = digest_of(certificate, cosigning.executor, self.domain)
        begun = multisignature.begin(multisignature.total(keys), digest, cosigning.nonces)
        if begun is None:
            raise RefusedError("the nonces of a certificate cancel each other")
        return multisignature.respond(self._secret, pair, begun)

    def require_attested(self, attestations: Sequence[SignedAttestation], digest: Bytes32) -> None:
        """Checks that a quorum of the roster attests pledges.  Raises RefusedError."""
        attesting = {each.member for each in attestations if self._is_by(each.member, digest, each.signature)}
        if len(attesting) < self.roster.quorum:
            raise RefusedError(
                f"{len(attesting)} members attest these nonces, {self.roster.quorum} are needed"
            )

    def _require_voted(self, cosigning: Cosigning) -> list[int]:
        """The indices of the voters.

        Raises RefusedError unless a quorum voted for one content and pledged nonces.
        """
        certificate = cosigning.certificate
        indices = [each.index for each in cosigning.votes]
        if indices != sorted(set(indices)) or not 1 <= indices[0] <= indices[-1] <= len(self.roster.keys):
            raise RefusedError("the voters of a certificate are members, by ascending index")
        if len(indices) < self.roster.quorum:
            raise RefusedError(f"a certificate has {self.roster.quorum} voters or more, not {len(indices)}")
        decision = (cosigning.epoch, cosigning.proposal, certificate.content_hash)
        digest = eip712.decision_digest(self.domain, *decision)
        for each, nonces, signed in zip(cosigning.votes, cosigning.nonces, cosigning.pledges, strict=True):
            pledge = signed.pledge
            if not self._is_by(each.index, digest, each.vote):
                raise RefusedError(f"a vote attributed to member {each.index} is not signed by it")
            if (pledge.session, pledge.signer, pledge.nonces) != (
                digest,
                each.index,
                pair_digest(nonces),
            ) or not signed.is_by(self.roster.members[each.index - 1], self.domain):
                raise RefusedError(f"the nonces of member {each.index} differ from its pledge")
        return indices

    def _is_by(self, index: int, digest: Bytes32, signed: bytes) -> bool:
        """Whether the member at a 1-based index signed `digest`."""
        members = self.roster.members
        return 1 <= index <= len(members) and signature.is_by(members[index - 1], digest, signed)

    def _content(self, ballot: Ballot) -> bytes:
        content = self._memory.voted(ballot)
        if content is None:
            raise RefusedError(f"this member has not voted on 0x{ballot.proposal.hex()[:8]}")
        return content
