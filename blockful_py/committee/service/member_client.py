# SPDX-License-Identifier: Apache-2.0
"""Asks one member at its URL: signed questions, verified answers, deadlines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from blockful_py.committee import codec, wire
from blockful_py.committee.service.client import post
from blockful_py.committee.service.messages import Ask, Identity, Nothing, Refused
from blockful_py.errors import CheaterError, CommitteeError, CryptoError, RefusedError

NOBODY = bytes(20)
"""Recipient of the question who someone is."""


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds for an answer: to a review of a proposal, and to everything else."""

    review: float = 120.0
    round: float = 20.0


@dataclass(frozen=True, slots=True)
class Line:
    """The way to one member.

    Attributes:
        address: of its voting key.
        pen: signs what is asked.
    """

    url: str
    address: bytes
    pen: wire.Pen
    deadlines: Deadlines

    def ask(self, ask: Ask, epoch: int, subject: bytes, body: Any) -> wire.Received:
        """What the member answered.

        Raises:
            UnreachableError: nobody answers, or too late.
            MessageError: what answers is not that member.
            RefusedError, CheaterError: the member refused, with its reason.
        """
        question = self.pen.question(ask.kind, epoch, subject, ask.round, self.address, codec.encode(body))
        seconds = (
            self.deadlines.review
            if ask in (Ask.APPROVE, Ask.PUBLICATION, Ask.ERASURE)
            else self.deadlines.round
        )
        answer = wire.receive(self.pen.domain, post(self.url, question.envelope, seconds))
        wire.require_answer(question, answer, self.address)
        if answer.message.kind == wire.REFUSED:
            raise _refusal(codec.decode(Refused, answer.message.body))
        return answer


@dataclass(frozen=True, slots=True)
class IndexedLine:
    """The way to a member, by its index in a committee, roster or charter."""

    index: int
    line: Line


def identify(url: str, pen: wire.Pen, seconds: float) -> tuple[bytes, Identity]:
    """Address of the member at a URL, and what it can do.

    Raises UnreachableError, MessageError or RefusedError.
    """
    question = pen.question(
        Ask.IDENTIFY.kind, 0, bytes(32), Ask.IDENTIFY.round, NOBODY, codec.encode(Nothing())
    )
    answer = wire.receive(pen.domain, post(url, question.envelope, seconds))
    sender = answer.message.sender
    wire.require_answer(question, answer, sender)
    if answer.message.kind == wire.REFUSED:
        raise _refusal(codec.decode(Refused, answer.message.body))
    return sender, codec.decode(Identity, answer.message.body)


def _refusal(refused: Refused) -> CommitteeError | CryptoError:
    if refused.kind == CheaterError.__name__ and refused.members:
        return CheaterError(refused.members, refused.reason)
    return RefusedError(refused.reason)
