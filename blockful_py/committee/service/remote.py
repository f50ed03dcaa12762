# SPDX-License-Identifier: Apache-2.0
"""Members in other processes, with the interface of a member in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from blockful_py.committee import codec
from blockful_py.committee.certificates import CastVote, CommittedVote, Cosigning
from blockful_py.committee.certified import CertifiedProposal, CertifiedPublication
from blockful_py.committee.motions import Motion
from blockful_py.committee.pledges import AttestedNonces, CollisionSession, PledgedNonces, SignedPledge
from blockful_py.committee.proposals import PublicationProposal, RedactionChunk, RedactionDraft
from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.member_client import MemberClient
from blockful_py.committee.service.messages import (
    AttestRequest,
    CastVotes,
    CommitRequest,
    Empty,
    ErasureRequest,
    SignRequest,
    VoteRequest,
)
from blockful_py.committee.succession import Acknowledgement, Succession
from blockful_py.crypto.threshold.messages import SignatureShares
from blockful_py.errors import CheaterError, CommitteeError, MessageError
from blockful_py.types import Address, Bytes32

Tally = Callable[[bytes, int, int], None]
"""Called with the proposal, the member's index and the number of models that it fetched."""


class RemoteMember:
    """Asks a member through its client; raises the member's refusal, or the errors of `_ask`."""

    def __init__(self, index: int, client: MemberClient, tally: Tally) -> None:
        self.index = index
        self._client = client
        self._tally = tally

    def __repr__(self) -> str:
        return f"RemoteMember(index={self.index}, url={self._client.url!r})"

    @property
    def address(self) -> Address:
        return self._client.address

    def approve(self, draft: RedactionDraft) -> None:
        approved = self._ask(MessageKind.APPROVE, draft)
        self._tally(draft.proposal, self.index, approved.downloads)

    def commit(self, draft: RedactionDraft, session: CollisionSession) -> PledgedNonces:
        return self._ask(MessageKind.COMMIT, CommitRequest(draft, session))

    def attest(self, session: CollisionSession, pledges: Sequence[SignedPledge], nonces: Bytes32) -> bytes:
        return self._ask(MessageKind.ATTEST, AttestRequest(session, tuple(pledges), nonces)).vote

    def sign(self, draft: RedactionDraft, nonces: AttestedNonces) -> SignatureShares:
        return self._ask(MessageKind.SIGN, SignRequest(draft, nonces))

    def vote_publication(self, proposal: PublicationProposal) -> CommittedVote:
        return self._ask(MessageKind.PUBLICATION, proposal)

    def vote_redaction(self, draft: RedactionDraft, chunks: Sequence[RedactionChunk]) -> CommittedVote:
        return self._ask(MessageKind.REDACTION, VoteRequest(draft, tuple(chunks)))

    def vote_erasure(self, epoch: int, statement: bytes) -> bytes:
        return self._ask(MessageKind.ERASURE, ErasureRequest(statement), epoch).vote

    def vote_motion(self, motion: Motion) -> CommittedVote:
        return self._ask(MessageKind.MOTION, motion)

    def recommit(self, epoch: int, proposal: Bytes32) -> CommittedVote:
        return self._ask(MessageKind.RECOMMIT, Empty(), epoch, proposal)

    def attest_cosigning(self, cosigning: Cosigning) -> bytes:
        return self._ask(MessageKind.ATTEST_COSIGNING, cosigning).vote

    def cosign(self, cosigning: Cosigning) -> int:
        return self._ask(MessageKind.COSIGN, cosigning).share

    def keep(self, certified: CertifiedProposal) -> None:
        published = isinstance(certified, CertifiedPublication)
        self._ask(MessageKind.FINISH_PUBLICATION if published else MessageKind.FINISH_REDACTION, certified)

    def witness(self, epoch: int, proposal: Bytes32, ballots: Sequence[CastVote]) -> None:
        self._ask(MessageKind.WITNESS, CastVotes(tuple(ballots)), epoch, proposal)

    def vote_succession(self, succession: Succession) -> CommittedVote:
        return self._ask(MessageKind.SUCCESSION, succession)

    def vote_acknowledgement(self, acknowledgement: Acknowledgement) -> CommittedVote:
        return self._ask(MessageKind.ACKNOWLEDGEMENT, acknowledgement)

    def _ask(self, kind: MessageKind, body: Any, epoch: int = 0, subject: bytes = b"") -> Any:
        """The decoded answer; epoch and subject come from the body if it has them.

        Raises CheaterError for a signed answer of another type, and the errors of the client.
        """
        row = kind.row
        if row.subject is not None:
            own, subject = row.subject(body)
            epoch = epoch if own is None else own
        received = self._client.ask(kind, epoch, subject, body)
        try:
            return codec.decode(row.answer, received.message.body)
        except MessageError as error:
            raise CheaterError([self.index], f"the answer to {kind.label} ({error})") from None


class AbsentMember(RemoteMember):
    """A member of the roster that could not be reached; refuses everything with the reason."""

    def __init__(self, index: int, address: Address, reason: CommitteeError) -> None:
        self.index = index
        self._address = address
        self._reason = reason

    def __repr__(self) -> str:
        return f"AbsentMember(index={self.index}, reason={self._reason})"

    @property
    def address(self) -> Address:
        return self._address

    def _ask(self, kind: MessageKind, body: Any, epoch: int = 0, subject: bytes = b"") -> Any:
        raise self._reason
