# SPDX-License-Identifier: Apache-2.0
"""A kind of question: its encodings, limits, senders, and its handler at a member."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from blockful_py.committee import wire
from blockful_py.committee.certificates import Cosigning
from blockful_py.committee.certified import CertifiedProposal
from blockful_py.committee.member import Member
from blockful_py.committee.pledges import CollisionSession
from blockful_py.committee.proposals import RedactionDraft
from blockful_py.committee.service import messages
from blockful_py.committee.service.dkg_participant import DkgParticipant
from blockful_py.committee.service.limits import Limits
from blockful_py.committee.service.messages import Empty
from blockful_py.committee.service.office import Office, Seat
from blockful_py.committee.succession import MirrorVoter

Answer = TypeVar("Answer")


class Desk(Protocol):
    """The interface of a member that answers; documented at `request_handler.RequestHandler`."""

    office: Office
    dkg: DkgParticipant

    def in_seat(self, message: wire.Message, answer: Callable[[Seat], Answer]) -> Answer: ...

    def approve(self, message: wire.Message, draft: RedactionDraft) -> messages.Approval: ...

    def keep(self, message: wire.Message, certified: CertifiedProposal) -> Empty: ...

    def witness(self, message: wire.Message, ballots: messages.CastVotes) -> Empty: ...

    def cosigner(self, message: wire.Message, cosigning: Cosigning) -> Member | MirrorVoter: ...

    def voter(self, message: wire.Message) -> Member | MirrorVoter: ...

    def mirror_voter(self, message: wire.Message) -> MirrorVoter: ...


Handler = Callable[[Desk, wire.Message, Any], Any]
"""Answers a question, given its envelope and its decoded body."""


@dataclass(frozen=True, slots=True)
class MessageRow:
    """One kind of question.

    Attributes:
        label, round: as in the envelope.
        body: type of the question's body; None for bytes of another encoding.
        answer: type of the answer's body.
        limits: sizes of both.
        handler: answers the question at a member.
        subject: returns the epoch and subject of a body, which the envelope must name; the epoch is None for
            bodies without one.  None if only the envelope has them.
        session: returns the session of a body, which must belong to the asking leader.
        by_leader: whether leaders of requests ask it, which shows the other members that they work.
        by_strangers: whether senders without a seat or a model in the federation may ask it.
        by_outgoing: whether members of the previous epoch may ask it, too.
        is_reviewed: whether the answer takes as long as a review.
        is_concurrent: whether it is answered concurrently; other kinds are answered one at a time.
    """

    label: str
    body: type | None
    answer: type
    limits: Limits
    handler: Handler
    round: int = 1
    subject: Callable[[Any], tuple[int | None, bytes]] | None = None
    session: Callable[[Any], CollisionSession] | None = None
    by_leader: bool = False
    by_strangers: bool = False
    by_outgoing: bool = False
    is_reviewed: bool = False
    is_concurrent: bool = False
