# SPDX-License-Identifier: Apache-2.0
"""Members of other processes, with the interface of a member in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

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
from blockful_py.errors import CheaterError, CommitteeError, MessageError

Answer = TypeVar("Answer")
Tally = Callable[[bytes, int, int], None]
"""Called with the proposal, the member's index and the number of models that it fetched."""


class RemoteMember:
    """Asks a member through its client; raises the member's refusal, or as `_ask`."""

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
        approved = self._ask(MessageKind.APPROVE, draft.epoch, draft.proposal, draft, Approval)
        self._tally(draft.proposal, self.index, approved.downloads)

    def commit(self, draft: RedactionDraft, session: CollisionSession) -> PledgedNonces:
        asked = CommitRequest(draft, session)
        return self._ask(MessageKind.COMMIT, draft.epoch, draft.proposal, asked, PledgedNonces)

    def attest(self, session: CollisionSession, pledges: Sequence[SignedPledge]) -> bytes:
        asked = AttestRequest(session, tuple(pledges))
        return self._ask(MessageKind.ATTEST, session.epoch, session.proposal, asked, Vote).vote

    def sign(self, draft: RedactionDraft, nonces: AttestedNonces) -> SignatureShares:
        asked = SignRequest(draft, nonces)
        return self._ask(MessageKind.SIGN, draft.epoch, draft.proposal, asked, SignatureShares)

    def vote_publication(self, proposal: PublicationProposal) -> CommittedVote:
        subject = (proposal.epoch, proposal.proposal)
        return self._ask(MessageKind.PUBLICATION, *subject, proposal, CommittedVote)

    def vote_redaction(self, draft: RedactionDraft, chunks: Sequence[RedactionChunk]) -> CommittedVote:
        asked = VoteRequest(draft, tuple(chunks))
        return self._ask(MessageKind.REDACTION, draft.epoch, draft.proposal, asked, CommittedVote)

    def vote_erasure(self, epoch: int, statement: bytes) -> bytes:
        asked = ErasureRequest(statement)
        return self._ask(MessageKind.ERASURE, epoch, keccak(statement), asked, Vote).vote

    def vote_motion(self, motion: Motion) -> CommittedVote:
        return self._ask(MessageKind.MOTION, motion.epoch, motion.proposal, motion, CommittedVote)

    def recommit(self, epoch: int, proposal: bytes) -> CommittedVote:
        return self._ask(MessageKind.RECOMMIT, epoch, proposal, Empty(), CommittedVote)

    def attest_cosigning(self, cosigning: Cosigning) -> bytes:
        subject = (cosigning.epoch, cosigning.proposal)
        return self._ask(MessageKind.ATTEST_COSIGNING, *subject, cosigning, Vote).vote

    def cosign(self, cosigning: Cosigning) -> int:
        subject = (cosigning.epoch, cosigning.proposal)
        return self._ask(MessageKind.COSIGN, *subject, cosigning, CertificateShare).share

    def keep(self, certified: CertifiedProposal) -> None:
        published = isinstance(certified, CertifiedPublication)
        kind = MessageKind.FINISH_PUBLICATION if published else MessageKind.FINISH_REDACTION
        self._ask(kind, *certified.subject, certified, Empty)

    def witness(self, epoch: int, proposal: bytes, ballots: Sequence[CastVote]) -> None:
        self._ask(MessageKind.WITNESS, epoch, proposal, CastVotes(tuple(ballots)), Empty)

    def vote_succession(self, succession: Succession) -> CommittedVote:
        subject = (succession.epoch, succession.proposal())
        return self._ask(MessageKind.SUCCESSION, *subject, succession, CommittedVote)

    def vote_acknowledgement(self, acknowledgement: Acknowledgement) -> CommittedVote:
        subject = (acknowledgement.epoch, acknowledgement.proposal())
        return self._ask(MessageKind.ACKNOWLEDGEMENT, *subject, acknowledgement, CommittedVote)

    def _ask(self, kind: MessageKind, epoch: int, subject: bytes, body: Any, answer: type[Answer]) -> Answer:
        """Raises CheaterError for a signed answer that is none of this type, otherwise as the client."""
        received = self._client.ask(kind, epoch, subject, body)
        try:
            return codec.decode(answer, received.message.body)
        except MessageError as error:
            raise CheaterError([self.index], f"the answer to {kind.label} ({error})") from None


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
