# SPDX-License-Identifier: Apache-2.0
"""Asks one member at its URL: signed questions, verified answers, deadlines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from blockful_py.committee import codec, wire
from blockful_py.committee.service.client import post
from blockful_py.committee.service.messages import Empty, Identity, MessageKind, Refused
from blockful_py.errors import CheaterError, CommitteeError, CryptoError, RefusedError

NOBODY = bytes(20)
"""Recipient of IDENTIFY, which is asked before the member's address is known."""


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds to wait for an answer: to messages that need a review, and to all others."""

    review: float = 120.0
    round: float = 20.0


@dataclass(frozen=True, slots=True)
class MemberClient:
    """A client of one member.

    Attributes:
        address: of the member's voting key.
        signer: signs the questions.
    """

    url: str
    address: bytes
    signer: wire.MessageSigner
    deadlines: Deadlines

    def ask(self, kind: MessageKind, epoch: int, subject: bytes, body: Any) -> wire.Received:
        """The member's answer.

        Raises:
            UnreachableError: no answer, or none in time.
            MessageError: the answer is not from this member.
            RefusedError, CheaterError: the member refused, with its reason.
        """
        question = self.signer.question(
            kind.label, epoch, subject, kind.round, self.address, codec.encode(body)
        )
        seconds = (
            self.deadlines.review
            if kind in (MessageKind.APPROVE, MessageKind.PUBLICATION, MessageKind.ERASURE)
            else self.deadlines.round
        )
        answer = wire.receive(self.signer.domain, post(self.url, question.envelope, seconds))
        wire.require_answer(question, answer, self.address)
        if answer.message.kind == wire.REFUSED:
            raise _refusal(codec.decode(Refused, answer.message.body))
        return answer


@dataclass(frozen=True, slots=True)
class IndexedClient:
    """The way to a member, by its index in a committee, roster or charter."""

    index: int
    client: MemberClient


def identify(url: str, signer: wire.MessageSigner, seconds: float) -> tuple[bytes, Identity]:
    """Address and identity of the member at a URL.

    Raises UnreachableError, MessageError or RefusedError.
    """
    question = signer.question(
        MessageKind.IDENTIFY.label, 0, bytes(32), MessageKind.IDENTIFY.round, NOBODY, codec.encode(Empty())
    )
    answer = wire.receive(signer.domain, post(url, question.envelope, seconds))
    sender = answer.message.sender
    wire.require_answer(question, answer, sender)
    if answer.message.kind == wire.REFUSED:
        raise _refusal(codec.decode(Refused, answer.message.body))
    return sender, codec.decode(Identity, answer.message.body)


def _refusal(refused: Refused) -> CommitteeError | CryptoError:
    if refused.kind == CheaterError.__name__ and refused.members:
        return CheaterError(refused.members, refused.reason)
    return RefusedError(refused.reason)
