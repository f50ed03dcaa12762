# SPDX-License-Identifier: Apache-2.0
"""Handles messages to a member: checks who may ask, and signs the answer.

A question is accepted when its sender signed it for this chain, committee, epoch, subject, round and member,
and is a member of the epoch's committee or, to make a key, of the one before, or a leader that this member
serves.  Anybody may ask for the member's identity, and any reader that the chain knows for a model's key.
The first line shows all that; the body is read after it.  Every failure ends in a signed refusal or, when the
sender is not authenticated, in MessageError.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any, Generic, Protocol, TypeVar

from blockful_py.committee import codec, wire
from blockful_py.committee.certificates import CommittedVote, Cosigning
from blockful_py.committee.certified import CertifiedProposal, CertifiedPublication, CertifiedRedaction
from blockful_py.committee.member import Member
from blockful_py.committee.motions import Motion
from blockful_py.committee.pledges import CollisionSession, PledgedNonces
from blockful_py.committee.proposals import PublicationProposal, RedactionDraft
from blockful_py.committee.service.block_custody import BlockCustody
from blockful_py.committee.service.dkg_participant import DkgParticipant
from blockful_py.committee.service.generation import Charter
from blockful_py.committee.service.key_custody import KeyCustody
from blockful_py.committee.service.limits import LIMITS, SMALLEST, Extent
from blockful_py.committee.service.member_client import NOBODY
from blockful_py.committee.service.messages import (
    Approval,
    AttestRequest,
    CastVotes,
    CertificateShare,
    CommitRequest,
    Empty,
    ErasureRequest,
    Identity,
    MessageKind,
    Refused,
    SignRequest,
    Vote,
    VoteRequest,
)
from blockful_py.committee.service.outbox import Outbox
from blockful_py.committee.succession import Acknowledgement, MirrorVoter, Succession
from blockful_py.crypto import eip712
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.threshold.messages import SignatureShares
from blockful_py.errors import (
    BlockfulError,
    CheaterError,
    MessageError,
    RefusedError,
    RefutedError,
    TooLongError,
)

Body = TypeVar("Body")

REASON_LENGTH = 2000
"""Maximum length of a refusal's reason in characters."""


@dataclass(frozen=True, slots=True)
class Seat:
    """A member's place in the current committee.

    Attributes:
        downloads: models fetched so far to review proposals.
    """

    member: Member
    downloads: Callable[[], int]


class Office(Protocol):
    """The state that a member's process sees; methods raise BlockfulError while the run is not ready."""

    def domain(self) -> eip712.Domain:
        """EIP-712 domain of messages."""

    def may_lead(self, address: bytes) -> bool:
        """Whether an address may lead that is no member's."""

    def is_participant(self, address: bytes) -> bool:
        """Whether an address is one of those that lead because they have joined, as anybody may."""

    def identity(self) -> Identity: ...

    def seat(self, epoch: int) -> Seat:
        """Raises RefusedError when `epoch` is not the current one or this member has no share of it."""

    def mirror_voter(self, epoch: int) -> MirrorVoter:
        """Raises RefusedError when this member has no place in the roster of `epoch`."""

    def roster(self, epoch: int) -> tuple[bytes, ...]:
        """Voting addresses of an epoch that has begun; empty for others."""

    def current_roster(self) -> tuple[bytes, ...]:
        """Voting addresses of the current epoch."""

    def extent(self) -> Extent:
        """Bounds the sizes of questions."""

    def custody(self, kind: MessageKind, message: wire.Message) -> Any:
        """Answers messages about data keys (`KeyCustody`) from peers, leaders and readers."""

    def blocks(self, kind: MessageKind, message: wire.Message) -> Any:
        """Answers messages about blocks (`BlockCustody`) from peers and leaders."""

    def admit(self, charter: Charter) -> None:
        """Raises RefusedError for a key that this member must not take part in generating."""


OPEN = frozenset({MessageKind.IDENTIFY, MessageKind.READ_KEY})
"""Questions that strangers and readers may ask."""


class AskerKind(Enum):
    """Who may ask a member."""

    MEMBER = auto()
    LEADER = auto()
    """A laboratory's own, or a founder."""
    PARTICIPANT = auto()
    """An account that has joined, as anybody may, and leads what concerns its own models."""
    STRANGER = auto()


REMEMBERED = 4096
"""Digests of the newest questions, which are not answered a second time."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """A question whose sender may ask it."""

    kind: MessageKind
    question: wire.Signed
    signer: wire.MessageSigner
    sender: AskerKind

    @property
    def peer(self) -> bytes | None:
        """The key of a member or leader; None for strangers."""
        return None if self.sender is AskerKind.STRANGER else self.question.header.sender

    @property
    def is_paced(self) -> bool:
        """Whether its sender may send so many bytes in a time."""
        return self.sender is AskerKind.PARTICIPANT

    @property
    def bulk(self) -> bool:
        """Whether the body is of blocks, which must not hold up decisions."""
        return self.kind is MessageKind.KEEP_BLOCKS


class RequestHandler:
    """Answers one question at a time, except for the member's identity, its keys and blocks."""

    def __init__(self, secret: int, office: Office, dkg: DkgParticipant, outbox: Outbox) -> None:
        self._secret = secret
        self._office = office
        self._dkg = dkg
        self._outbox = outbox
        self._turn = threading.Lock()
        self._asked: dict[bytes, None] = {}
        self._remembering = threading.Lock()
        self._kinds = {(kind.label, kind.round): kind for kind in MessageKind}

    def admit(self, line: bytes, size: int) -> Admitted:
        """A question whose sender may ask it, by its first line and the length of its body.

        Raises TooLongError for too long a body, MessageError for any other reason.
        """
        try:
            domain = self._office.domain()
        except BlockfulError as error:
            raise MessageError(f"this member is not ready: {error}") from None
        signer = wire.MessageSigner(self._secret, domain)
        question = wire.open_line(domain, line)
        header = question.header
        kind = self._kinds.get((header.kind, header.round))
        if kind is None:
            raise MessageError(f"there is no message {header.kind[:40]!r} in round {header.round}.")
        if header.recipient != (NOBODY if kind is MessageKind.IDENTIFY else signer.address):
            raise MessageError("the message is for another member.")
        sender = self._sender(kind, header)
        if sender is AskerKind.STRANGER and kind not in OPEN:
            raise _stranger(header)
        self._require_fitting(kind, size)
        self._require_fresh(question.digest)
        return Admitted(kind, question, signer, sender)

    def fetcher(self, line: bytes) -> bytes:
        """The key of the member or leader that signed a request for blocks.

        Raises MessageError for any other line.
        """
        admitted = self.admit(line, 0)
        if admitted.kind is not MessageKind.FETCH_BLOCKS or admitted.peer is None:
            raise MessageError("a request for blocks is not signed as one.")
        return admitted.peer

    def answer(self, admitted: Admitted, body: bytes) -> bytes:
        """The signed answer to a question. Raises MessageError for another body than the signed one."""
        kind, question, signer = admitted.kind, admitted.question, admitted.signer
        message = question.with_body(body).message
        try:
            answered = self._answered(kind, message)
        except Exception as error:  # no message may end the process
            return signer.answer(question, wire.REFUSED, codec.encode(_refused(error))).envelope
        return signer.answer(question, wire.ANSWERED, codec.encode(answered)).envelope

    def _answered(self, kind: MessageKind, message: wire.Message) -> Any:
        if kind is MessageKind.IDENTIFY:
            codec.decode(Empty, message.body)
            return self._office.identity()
        if kind is MessageKind.LEAD:  # whoever notes leaders has seen it (`member.leads`)
            return codec.decode(Empty, message.body)
        if kind is MessageKind.TELL_KEY:
            return self._dkg.key(message.subject)
        if kind in KeyCustody.KINDS or kind is MessageKind.READ_KEY:
            return self._office.custody(kind, message)
        if kind in BlockCustody.KINDS:
            return self._office.blocks(kind, message)
        if kind is MessageKind.FETCH_BLOCKS:
            raise MessageError(f"{kind.label} signs a request for blocks, and is no question.")
        with self._turn:
            if kind.label.startswith("keygen-"):
                return self._dkg.answer(kind, message, self._office)
            if kind is MessageKind.SUCCESSION:
                return self._succession(message)
            if kind is MessageKind.ACKNOWLEDGEMENT:
                return self._acknowledgement(message)
            if kind is MessageKind.RECOMMIT:
                codec.decode(Empty, message.body)
                return self._voter(message).recommit(message.epoch, message.subject)
            if kind in (MessageKind.ATTEST_COSIGNING, MessageKind.COSIGN):
                return self._cosigning(kind, message)
            return self._decision(kind, message)

    def _sender(self, kind: MessageKind, header: wire.MessageHeader) -> AskerKind:
        """Who asks; members are those of the epoch and, to make a key, of the one before."""
        try:
            members = {*self._office.roster(header.epoch)}
            if kind is MessageKind.IDENTIFY:
                members |= {*self._office.current_roster()}
            if kind.label.startswith("keygen-"):
                members |= {*self._office.roster(header.epoch - 1)}
            if header.sender in members:
                return AskerKind.MEMBER
            if not self._office.may_lead(header.sender):
                return AskerKind.STRANGER
            joined = self._office.is_participant(header.sender)
            return AskerKind.PARTICIPANT if joined else AskerKind.LEADER
        except BlockfulError as error:
            if kind is MessageKind.IDENTIFY:
                return AskerKind.STRANGER
            raise MessageError(f"this member cannot tell who may ask it: {error}") from None

    def _require_fitting(self, kind: MessageKind, size: int) -> None:
        limits = LIMITS[kind]
        if size <= limits.question_bytes(SMALLEST):
            return
        try:
            allowed = limits.question_bytes(self._office.extent())
        except BlockfulError as error:
            raise MessageError(f"this member cannot tell how long a message may be: {error}") from None
        if size > allowed:
            raise TooLongError(f"{kind.label} has a body of {size} bytes, {allowed} are allowed here.")

    def _require_fresh(self, digest: bytes) -> None:
        """Raises MessageError for one of the last questions: nobody else may take its sender's seats."""
        with self._remembering:
            if digest in self._asked:
                raise MessageError("this member was asked this question before; ask another one.")
            self._asked[digest] = None
            if len(self._asked) > REMEMBERED:
                del self._asked[next(iter(self._asked))]

    def _voter(self, message: wire.Message) -> Member | MirrorVoter:
        """This member in its seat, or where it has none, for what concerns the mirror."""
        try:
            return self._seat(message).member
        except RefusedError:
            return self._mirror_voter(message)

    def _seat(self, message: wire.Message) -> Seat:
        seat = self._office.seat(message.epoch)
        return replace(seat, member=seat.member.led_by(message.sender))

    def _mirror_voter(self, message: wire.Message) -> MirrorVoter:
        return self._office.mirror_voter(message.epoch).led_by(message.sender)

    def _cosigning(self, kind: MessageKind, message: wire.Message) -> Vote | CertificateShare:
        cosigning = codec.decode(Cosigning, message.body)
        _require_subject(message, cosigning.epoch, cosigning.proposal)
        voter = self._voter(message)
        ballot = voter.ballot(cosigning.epoch, cosigning.proposal)
        self._outbox.witness(ballot, cosigning.votes, voter.roster.members, voter.domain)
        if kind is MessageKind.ATTEST_COSIGNING:
            return Vote(voter.attest_cosigning(cosigning))
        return CertificateShare(voter.cosign(cosigning))

    def _succession(self, message: wire.Message) -> CommittedVote:
        succession = codec.decode(Succession, message.body)
        _require_subject(message, succession.epoch, succession.proposal())
        return self._mirror_voter(message).vote_succession(succession)

    def _acknowledgement(self, message: wire.Message) -> CommittedVote:
        acknowledgement = codec.decode(Acknowledgement, message.body)
        _require_subject(message, acknowledgement.epoch, acknowledgement.proposal())
        return self._mirror_voter(message).vote_acknowledgement(acknowledgement)

    def _decision(self, kind: MessageKind, message: wire.Message) -> Any:
        seat = self._seat(message)
        try:
            return self._decided(seat, kind, message)
        except RefutedError as error:
            self._outbox.refuse(seat.member.ballot(message.epoch, message.subject), str(error))
            raise

    def _decided(self, seat: Seat, kind: MessageKind, message: wire.Message) -> Any:
        step = DECISIONS[kind]
        body = codec.decode(step.body, message.body)
        _require_subject(message, *step.subject(message, body))
        return step.answer(self, seat, message, body)

    def _approve(self, seat: Seat, message: wire.Message, draft: RedactionDraft) -> Approval:
        before = seat.downloads()
        seat.member.approve(draft)
        return Approval(seat.downloads() - before)

    def _commit(self, seat: Seat, message: wire.Message, asked: CommitRequest) -> PledgedNonces:
        _require_own(message, asked.session)
        return seat.member.commit(asked.draft, asked.session)

    def _attest(self, seat: Seat, message: wire.Message, asked: AttestRequest) -> Vote:
        _require_own(message, asked.session)
        return Vote(seat.member.attest(asked.session, asked.pledges))

    def _sign(self, seat: Seat, message: wire.Message, asked: SignRequest) -> SignatureShares:
        _require_own(message, asked.nonces.session)
        return seat.member.sign(asked.draft, asked.nonces)

    def _keep(self, seat: Seat, message: wire.Message, certified: CertifiedProposal) -> Empty:
        seat.member.check_certified(certified)
        self._outbox.keep(seat.member.ballot(*certified.subject), certified)
        return Empty()

    def _witness(self, seat: Seat, message: wire.Message, ballots: CastVotes) -> Empty:
        ballot = seat.member.ballot(message.epoch, message.subject)
        self._outbox.witness(ballot, ballots.cast, seat.member.roster.members, seat.member.domain)
        return Empty()


@dataclass(frozen=True, slots=True)
class ProposalMessage(Generic[Body]):
    """How a member answers one question about a proposal.

    Attributes:
        body: type of the message's body.
        subject: epoch and proposal that the body is about, which its envelope must name.
        answer: the handler's, for the member of a seat.
    """

    body: type[Body]
    subject: Callable[[wire.Message, Body], tuple[int, bytes]]
    answer: Callable[[RequestHandler, Seat, wire.Message, Body], Any]


def _of_body(message: wire.Message, body: Any) -> tuple[int, bytes]:
    return body.epoch, body.proposal


def _of_draft(message: wire.Message, body: Any) -> tuple[int, bytes]:
    return _of_body(message, body.draft)


DECISIONS: Mapping[MessageKind, ProposalMessage[Any]] = {
    MessageKind.PUBLICATION: ProposalMessage(
        PublicationProposal,
        _of_body,
        lambda handler, seat, message, body: seat.member.vote_publication(body),
    ),
    MessageKind.APPROVE: ProposalMessage(RedactionDraft, _of_body, RequestHandler._approve),
    MessageKind.COMMIT: ProposalMessage(CommitRequest, _of_draft, RequestHandler._commit),
    MessageKind.ATTEST: ProposalMessage(
        AttestRequest,
        lambda message, body: (body.session.epoch, body.session.proposal),
        RequestHandler._attest,
    ),
    MessageKind.SIGN: ProposalMessage(SignRequest, _of_draft, RequestHandler._sign),
    MessageKind.REDACTION: ProposalMessage(
        VoteRequest,
        _of_draft,
        lambda handler, seat, message, body: seat.member.vote_redaction(body.draft, body.chunks),
    ),
    MessageKind.FINISH_PUBLICATION: ProposalMessage(
        CertifiedPublication, lambda message, body: body.subject, RequestHandler._keep
    ),
    MessageKind.FINISH_REDACTION: ProposalMessage(
        CertifiedRedaction, lambda message, body: body.subject, RequestHandler._keep
    ),
    MessageKind.WITNESS: ProposalMessage(
        CastVotes, lambda message, body: (message.epoch, message.subject), RequestHandler._witness
    ),
    MessageKind.ERASURE: ProposalMessage(
        ErasureRequest,
        lambda message, body: (message.epoch, keccak(body.statement)),
        lambda handler, seat, message, body: Vote(seat.member.vote_erasure(message.epoch, body.statement)),
    ),
    MessageKind.MOTION: ProposalMessage(
        Motion,
        _of_body,
        lambda handler, seat, message, body: seat.member.vote_motion(body),
    ),
}


def _require_subject(message: wire.Message, epoch: int, subject: bytes) -> None:
    if (message.epoch, message.subject) != (epoch, subject):
        raise MessageError("the body of a message names another epoch or proposal than its envelope.")


def _require_own(message: wire.Message, session: CollisionSession) -> None:
    """A leader cannot use up the session of another."""
    if message.sender != session.leader:
        raise MessageError("the session is another leader's.")


def _stranger(header: wire.MessageHeader) -> MessageError:
    return MessageError(
        f"0x{header.sender.hex()} is neither a member of this committee nor a leader it serves."
    )


def _refused(error: Exception) -> Refused:
    members = error.members if isinstance(error, CheaterError) else ()
    if isinstance(error, CheaterError):
        return Refused(type(error).__name__, error.what[:REASON_LENGTH], members)
    if isinstance(error, BlockfulError):
        return Refused(type(error).__name__, str(error)[:REASON_LENGTH], members)
    return Refused(RefusedError.__name__, f"the message cannot be used ({type(error).__name__})", members)
