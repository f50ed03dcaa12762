# SPDX-License-Identifier: Apache-2.0
"""Members of other processes, with the interface of a member in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from blockful_py.committee import codec
from blockful_py.committee.certificates import CastVote, CommittedVote, Cosigning
from blockful_py.committee.certified import CertifiedProposal, CertifiedPublication
from blockful_py.committee.motions import Motion
from blockful_py.committee.pledges import AttestedNonces, CollisionSession, PledgedNonces, SignedPledge
from blockful_py.committee.proposals import PublicationProposal, RedactionChunk, RedactionDraft
from blockful_py.committee.service.member_client import MemberClient
from blockful_py.committee.service.messages import (
    Approval,
    AttestRequest,
    CastVotes,
    CertificateShare,
    CommitRequest,
    Empty,
    ErasureRequest,
    MessageKind,
    SignRequest,
    Vote,
    VoteRequest,
)
from blockful_py.committee.succession import Acknowledgement, Succession
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.threshold.messages import SignatureShares
from blockful_py.errors import CommitteeError

Tally = Callable[[bytes, int, int], None]
"""Called with the proposal, the member's index and the number of models that it fetched."""


class RemoteMember:
    """Asks a member through its client; raises the member's refusal, or UnreachableError."""

    def __init__(self, index: int, client: MemberClient, tally: Tally) -> None:
        self.index = index
        self._client = client
        self._tally = tally

    def __repr__(self) -> str:
        return f"RemoteMember(index={self.index}, url={self._client.url!r})"

    @property
    def address(self) -> bytes:
        return self._client.address

    def approve(self, draft: RedactionDraft) -> None:
        answer = self._client.ask(MessageKind.APPROVE, draft.epoch, draft.proposal, draft)
        approved = codec.decode(Approval, answer.message.body)
        self._tally(draft.proposal, self.index, approved.downloads)

    def commit(self, draft: RedactionDraft, session: CollisionSession) -> PledgedNonces:
        answer = self._client.ask(
            MessageKind.COMMIT, draft.epoch, draft.proposal, CommitRequest(draft, session)
        )
        return codec.decode(PledgedNonces, answer.message.body)

    def attest(self, session: CollisionSession, pledges: Sequence[SignedPledge]) -> bytes:
        request = AttestRequest(session, tuple(pledges))
        answer = self._client.ask(MessageKind.ATTEST, session.epoch, session.proposal, request)
        return codec.decode(Vote, answer.message.body).vote

    def sign(self, draft: RedactionDraft, nonces: AttestedNonces) -> SignatureShares:
        answer = self._client.ask(MessageKind.SIGN, draft.epoch, draft.proposal, SignRequest(draft, nonces))
        return codec.decode(SignatureShares, answer.message.body)

    def vote_publication(self, proposal: PublicationProposal) -> CommittedVote:
        answer = self._client.ask(MessageKind.PUBLICATION, proposal.epoch, proposal.proposal, proposal)
        return codec.decode(CommittedVote, answer.message.body)

    def vote_redaction(self, draft: RedactionDraft, chunks: Sequence[RedactionChunk]) -> CommittedVote:
        answer = self._client.ask(
            MessageKind.REDACTION, draft.epoch, draft.proposal, VoteRequest(draft, tuple(chunks))
        )
        return codec.decode(CommittedVote, answer.message.body)

    def vote_erasure(self, epoch: int, statement: bytes) -> bytes:
        answer = self._client.ask(MessageKind.ERASURE, epoch, keccak(statement), ErasureRequest(statement))
        return codec.decode(Vote, answer.message.body).vote

    def vote_motion(self, motion: Motion) -> CommittedVote:
        answer = self._client.ask(MessageKind.MOTION, motion.epoch, motion.proposal, motion)
        return codec.decode(CommittedVote, answer.message.body)

    def recommit(self, epoch: int, proposal: bytes) -> CommittedVote:
        answer = self._client.ask(MessageKind.RECOMMIT, epoch, proposal, Empty())
        return codec.decode(CommittedVote, answer.message.body)

    def attest_cosigning(self, cosigning: Cosigning) -> bytes:
        kind = MessageKind.ATTEST_COSIGNING
        answer = self._client.ask(kind, cosigning.epoch, cosigning.proposal, cosigning)
        return codec.decode(Vote, answer.message.body).vote

    def cosign(self, cosigning: Cosigning) -> int:
        answer = self._client.ask(MessageKind.COSIGN, cosigning.epoch, cosigning.proposal, cosigning)
        return codec.decode(CertificateShare, answer.message.body).share

    def keep(self, certified: CertifiedProposal) -> None:
        published = isinstance(certified, CertifiedPublication)
        kind = MessageKind.FINISH_PUBLICATION if published else MessageKind.FINISH_REDACTION
        codec.decode(Empty, self._client.ask(kind, *certified.subject, certified).message.body)

    def witness(self, epoch: int, proposal: bytes, ballots: Sequence[CastVote]) -> None:
        answer = self._client.ask(MessageKind.WITNESS, epoch, proposal, CastVotes(tuple(ballots)))
        codec.decode(Empty, answer.message.body)

    def vote_succession(self, succession: Succession) -> CommittedVote:
        answer = self._client.ask(MessageKind.SUCCESSION, succession.epoch, succession.proposal(), succession)
        return codec.decode(CommittedVote, answer.message.body)

    def vote_acknowledgement(self, acknowledgement: Acknowledgement) -> CommittedVote:
        subject = (acknowledgement.epoch, acknowledgement.proposal())
        answer = self._client.ask(MessageKind.ACKNOWLEDGEMENT, *subject, acknowledgement)
        return codec.decode(CommittedVote, answer.message.body)


class AbsentMember:
    """A member of the roster that could not be reached; refuses everything with the reason."""

    def __init__(self, index: int, address: bytes, reason: CommitteeError) -> None:
        self.index = index
        self.address = address
        self._reason = reason

    def approve(self, draft: RedactionDraft) -> None:
        raise self._reason

    def commit(self, draft: RedactionDraft, session: CollisionSession) -> PledgedNonces:
        raise self._reason

    def attest(self, session: CollisionSession, pledges: Sequence[SignedPledge]) -> bytes:
        raise self._reason

    def sign(self, draft: RedactionDraft, nonces: AttestedNonces) -> SignatureShares:
        raise self._reason

    def vote_publication(self, proposal: PublicationProposal) -> CommittedVote:
        raise self._reason

    def vote_redaction(self, draft: RedactionDraft, chunks: Sequence[RedactionChunk]) -> CommittedVote:
        raise self._reason

    def vote_erasure(self, epoch: int, statement: bytes) -> bytes:
        raise self._reason

    def vote_motion(self, motion: Motion) -> CommittedVote:
        raise self._reason

    def recommit(self, epoch: int, proposal: bytes) -> CommittedVote:
        raise self._reason

    def attest_cosigning(self, cosigning: Cosigning) -> bytes:
        raise self._reason

    def cosign(self, cosigning: Cosigning) -> int:
        raise self._reason

    def keep(self, certified: CertifiedProposal) -> None:
        raise self._reason

    def witness(self, epoch: int, proposal: bytes, ballots: Sequence[CastVote]) -> None:
        raise self._reason

    def vote_succession(self, succession: Succession) -> CommittedVote:
        raise self._reason

    def vote_acknowledgement(self, acknowledgement: Acknowledgement) -> CommittedVote:
        raise self._reason
