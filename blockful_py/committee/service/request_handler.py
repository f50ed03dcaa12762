# SPDX-License-Identifier: Apache-2.0
"""Handles messages to a member: checks who may ask, and signs the answer.

A question must be signed by its sender for this chain, committee, epoch, subject, round and member.  The
sender must be a member of the epoch's committee, a member of the previous one in a key generation, or a
leader that this member serves.  Anybody may ask for the member's identity and for auditors' words, readers
known to the chain for a model's key, and auditors may tell their words.  The first line shows all this,
before the body is read.  Every failure ends in a signed refusal or, when the sender is not authenticated, in
MessageError.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any, TypeVar

from blockful_py.committee import codec, wire
from blockful_py.committee.certificates import Cosigning
from blockful_py.committee.certified import CertifiedProposal
from blockful_py.committee.member import Member
from blockful_py.committee.proposals import RedactionDraft
from blockful_py.committee.service.dkg_participant import DkgParticipant
from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.limits import SMALLEST
from blockful_py.committee.service.messages import (
    NOBODY,
    Approval,
    CastVotes,
    Empty,
    Refused,
)
from blockful_py.committee.service.office import Office, Seat
from blockful_py.committee.service.outbox import Outbox
from blockful_py.committee.succession import MirrorVoter
from blockful_py.crypto import eip712
from blockful_py.errors import (
    BlockfulError,
    CheaterError,
    MessageError,
    RefusedError,
    RefutedError,
    TooLongError,
)
from blockful_py.types import Address, Bytes32

Answer = TypeVar("Answer")

REASON_LENGTH = 2000
"""Maximum length of a refusal's reason in characters."""


class AskerKind(Enum):
    """Kinds of senders."""

    MEMBER = auto()
    LEADER = auto()
    """A laboratory's own leader, or a founder."""
    PARTICIPANT = auto()
    """An account that has joined, as anybody may; leads requests about its own models."""
    STRANGER = auto()


REMEMBERED = 4096
"""Number of recent questions whose digests are remembered, to refuse repetitions."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """A question whose sender may ask it."""

    kind: MessageKind
    question: wire.Signed
    signer: wire.MessageSigner
    sender: AskerKind

    @property
    def peer(self) -> Address | None:
        """The key of a member or leader; None for strangers."""
        return None if self.sender is AskerKind.STRANGER else self.question.header.sender

    @property
    def is_paced(self) -> bool:
        """Whether the rate of the sender's bytes is limited."""
        return self.sender is AskerKind.PARTICIPANT

    @property
    def bulk(self) -> bool:
        """Whether the body contains blocks, which must not delay decisions."""
        return self.kind is MessageKind.KEEP_BLOCKS


class RequestHandler:
    """Answers one question at a time, except questions about identity, keys and blocks."""

    office: Office
    dkg: DkgParticipant

    def __init__(self, secret: int, office: Office, dkg: DkgParticipant, outbox: Outbox) -> None:
        self._secret = secret
        self.office = office
        self.dkg = dkg
        self._outbox = outbox
        self._lock = threading.Lock()
        self._asked: dict[bytes, None] = {}
        self._remembering = threading.Lock()
        self._kinds = {(kind.label, kind.round): kind for kind in MessageKind}

    def admit(self, line: bytes, size: int) -> Admitted:
        """Admits a question by its first line and the length of its body.

        Raises TooLongError when the body is too long, MessageError for any other reason.
        """
        try:
            domain = self.office.domain()
        except BlockfulError as error:
            raise MessageError(f"this member is not ready: {error}") from None
        with self.office.one_look():
            return self._admitted(wire.MessageSigner(self._secret, domain), domain, line, size)

    def _admitted(
        self, signer: wire.MessageSigner, domain: eip712.Domain, line: bytes, size: int
    ) -> Admitted:
        question = wire.open_line(domain, line)
        header = question.header
        kind = self._kinds.get((header.kind, header.round))
        if kind is None:
            raise MessageError(f"there is no message {header.kind[:40]!r} in round {header.round}.")
        if header.recipient != (NOBODY if kind is MessageKind.IDENTIFY else signer.address):
            raise MessageError("the message is for another member.")
        sender = self._sender(kind, header)
        if sender is AskerKind.STRANGER and not kind.row.by_strangers:
            raise MessageError(
                f"0x{header.sender.hex()} is neither a member of this committee nor a leader it serves."
            )
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
        """The signed answer to a question.  Raises MessageError when the sender signed another body."""
        kind, question, signer = admitted.kind, admitted.question, admitted.signer
        message = question.with_body(body).message
        try:
            with self.office.one_look():
                answered = self._answered(kind, message)
        except Exception as error:  # no message may end the process
            return signer.answer(question, wire.REFUSED, codec.encode(_refused(error))).envelope
        return signer.answer(question, wire.ANSWERED, codec.encode(answered)).envelope

    def _answered(self, kind: MessageKind, message: wire.Message) -> Any:
        row = kind.row
        with nullcontext() if row.is_concurrent else self._lock:
            body = message.body if row.body is None else codec.decode(row.body, message.body)
            if row.subject is not None:
                epoch, subject = row.subject(body)
                if message.subject != subject or epoch not in (None, message.epoch):
                    raise MessageError(
                        "the body of a message names another epoch or subject than its envelope."
                    )
            if row.session is not None and row.session(body).leader != message.sender:
                raise MessageError("the session is another leader's.")  # nobody else may use it up
            return row.handler(self, message, body)

    def in_seat(self, message: wire.Message, answer: Callable[[Seat], Answer]) -> Answer:
        """Has this member answer in the current committee; records a refutation, to raise an alarm."""
        seat = self._seat(message)
        try:
            return answer(seat)
        except RefutedError as error:
            self._outbox.refuse(seat.member.ballot(message.epoch, message.subject), str(error))
            raise

    def approve(self, message: wire.Message, draft: RedactionDraft) -> Approval:
        """Approves a draft; returns the number of models fetched for the review."""

        def approved(seat: Seat) -> Approval:
            before = seat.downloads()
            seat.member.approve(draft)
            return Approval(seat.downloads() - before)

        return self.in_seat(message, approved)

    def keep(self, message: wire.Message, certified: CertifiedProposal) -> Empty:
        """Stores a certified decision, to finish it if its leader does not."""

        def kept(seat: Seat) -> Empty:
            seat.member.check_certified(certified)
            self._outbox.keep(seat.member.ballot(*certified.subject), certified)
            return Empty()

        return self.in_seat(message, kept)

    def witness(self, message: wire.Message, ballots: CastVotes) -> Empty:
        """Compares votes with other votes by the same members."""

        def witnessed(seat: Seat) -> Empty:
            ballot = seat.member.ballot(message.epoch, message.subject)
            self._outbox.witness(ballot, ballots.cast, seat.member.roster.members, seat.member.domain)
            return Empty()

        return self.in_seat(message, witnessed)

    def cosigner(self, message: wire.Message, cosigning: Cosigning) -> Member | MirrorVoter:
        """This member, after it has compared the votes of a certificate."""
        voter = self.voter(message)
        ballot = voter.ballot(cosigning.epoch, cosigning.proposal)
        self._outbox.witness(ballot, cosigning.votes, voter.roster.members, voter.domain)
        return voter

    def voter(self, message: wire.Message) -> Member | MirrorVoter:
        """This member in its seat, or its voter on mirror matters if it has no seat."""
        try:
            return self._seat(message).member
        except RefusedError:
            return self.mirror_voter(message)

    def mirror_voter(self, message: wire.Message) -> MirrorVoter:
        """This member's voter on mirror matters.  Raises RefusedError outside the epoch's roster."""
        return self.office.mirror_voter(message.epoch).led_by(message.sender)

    def _sender(self, kind: MessageKind, header: wire.MessageHeader) -> AskerKind:
        """The kind of sender; members of the previous epoch count in key generations."""
        try:
            members = {*self.office.roster(header.epoch)}
            if kind is MessageKind.IDENTIFY:
                members |= {*self.office.current_roster()}
            if kind.row.by_outgoing:
                members |= {*self.office.roster(header.epoch - 1)}
            if header.sender in members:
                return AskerKind.MEMBER
            if not self.office.may_lead(header.sender):
                return AskerKind.STRANGER
            joined = self.office.is_participant(header.sender)
            return AskerKind.PARTICIPANT if joined else AskerKind.LEADER
        except BlockfulError as error:
            if kind is MessageKind.IDENTIFY:
                return AskerKind.STRANGER
            raise MessageError(f"this member cannot tell who may ask it: {error}") from None

    def _require_fitting(self, kind: MessageKind, size: int) -> None:
        limits = kind.row.limits
        if size <= limits.question_bytes(SMALLEST):
            return
        try:
            allowed = limits.question_bytes(self.office.extent())
        except BlockfulError as error:
            raise MessageError(f"this member cannot tell how long a message may be: {error}") from None
        if size > allowed:
            raise TooLongError(f"{kind.label} has a body of {size} bytes, {allowed} are allowed here.")

    def _require_fresh(self, digest: Bytes32) -> None:
        """Refuses a recent question, so that nobody can replay it to take its sender's slots.

        Raises MessageError.
        """
        with self._remembering:
            if digest in self._asked:
                raise MessageError("this member was asked this question before; ask another one.")
            self._asked[digest] = None
            if len(self._asked) > REMEMBERED:
                del self._asked[next(iter(self._asked))]

    def _seat(self, message: wire.Message) -> Seat:
        seat = self.office.seat(message.epoch)
        return replace(seat, member=seat.member.led_by(message.sender))


def _refused(error: Exception) -> Refused:
    members = error.members if isinstance(error, CheaterError) else ()
    if isinstance(error, CheaterError):
        return Refused(type(error).__name__, error.what[:REASON_LENGTH], members)
    if isinstance(error, BlockfulError):
        return Refused(type(error).__name__, str(error)[:REASON_LENGTH], members)
    return Refused(RefusedError.__name__, f"the message cannot be used ({type(error).__name__})", members)
