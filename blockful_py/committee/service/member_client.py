# SPDX-License-Identifier: Apache-2.0
"""Asks one member at its URL: signed questions, verified answers, deadlines."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from blockful_py.committee import codec, wire
from blockful_py.committee.service.client import post
from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.limits import REFUSAL, RETRY_SECONDS
from blockful_py.committee.service.messages import NOBODY, Empty, Identity, Refused
from blockful_py.errors import BusyError, CheaterError, CommitteeError, CryptoError, RefusedError
from blockful_py.storage.fetch import Machine, Sign
from blockful_py.types import Address

EPOCH_SECONDS = 5.0
"""Time for which a signer of requests for blocks caches the epoch."""

Asked = tuple[MessageKind, int, bytes, bytes]
"""Kind, epoch, subject and body of a question."""


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds to wait for an answer that needs a review, and for any other."""

    review: float = 120.0
    round: float = 20.0


@dataclass(frozen=True, slots=True)
class MemberClient:
    """A client of one member.

    Attributes:
        address: address of the member's voting key.
        signer: signs the questions.
        inside: whether the URL may lead to this host or a private network.
    """

    url: str
    address: Address
    signer: wire.MessageSigner
    deadlines: Deadlines
    inside: bool = True

    def ask(self, kind: MessageKind, epoch: int, subject: bytes, body: Any) -> wire.Received:
        """Asks a question; `body` is a value for `codec`, or the bytes of a CAR.

        Raises:
            UnreachableError: the member did not answer in time.
            MessageError: the answer is not from this member.
            RefusedError, CheaterError: the member refused, with its reason.
        """
        seconds = self.deadlines.review if kind.row.is_reviewed else self.deadlines.round
        encoded = body if isinstance(body, bytes) else codec.encode(body)
        asked = (kind, epoch, subject, encoded)
        return _answer(self.url, self.signer, asked, seconds, self.address, self.inside)


@dataclass(frozen=True, slots=True)
class IndexedClient:
    """A client with the member's index in a committee, roster or charter."""

    index: int
    client: MemberClient


def identify(
    url: str, signer: wire.MessageSigner, seconds: float, inside: bool = True
) -> tuple[bytes, Identity]:
    """Address and identity of the member at a URL; `inside` as in `MemberClient`.

    Raises UnreachableError, MessageError or RefusedError.
    """
    asked = (MessageKind.IDENTIFY, 0, bytes(32), codec.encode(Empty()))
    message = _answer(url, signer, asked, seconds, None, inside).message
    return message.sender, codec.decode(Identity, message.body)


def signed_fetch(signer: wire.MessageSigner, epoch: Callable[[], int]) -> Sign:
    """Signs requests for blocks, which then take no slots of strangers.

    `epoch` returns the current epoch; it is called once in EPOCH_SECONDS.
    """
    kind, known = MessageKind.FETCH_BLOCKS, (0, -math.inf)

    def sign(machine: Machine) -> dict[str, str]:
        nonlocal known
        if machine.address is None:
            return {}  # a signature is for one member
        if time.monotonic() - known[1] > EPOCH_SECONDS:
            known = (epoch(), time.monotonic())
        question = signer.question(kind.label, known[0], bytes(32), kind.round, machine.address, b"")
        return {"authorization": wire.SCHEME + question.line.decode().rstrip("\n")}

    return sign


def _answer(
    url: str, signer: wire.MessageSigner, asked: Asked, seconds: float, member: bytes | None, inside: bool
) -> wire.Received:
    """The answer to a question; retries with fresh signatures while the member is busy."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return _one_answer(url, signer, asked, deadline - time.monotonic(), member, inside)
        except BusyError:
            if time.monotonic() + RETRY_SECONDS >= deadline:
                raise
            time.sleep(RETRY_SECONDS)


def _one_answer(
    url: str, signer: wire.MessageSigner, asked: Asked, seconds: float, member: bytes | None, inside: bool
) -> wire.Received:
    kind, epoch, subject, body = asked
    question = signer.question(kind.label, epoch, subject, kind.round, member or NOBODY, body)

    def limit_of(line: bytes) -> int:
        header = wire.open_line(signer.domain, line).header
        wire.require_answer(question, header, member or header.sender)
        return kind.row.limits.answer_bytes(len(body)) if header.kind == wire.ANSWERED else REFUSAL

    answer = wire.receive(signer.domain, post(url, question.envelope, seconds, limit_of, member, inside))
    if answer.message.kind == wire.REFUSED:
        raise _refusal(codec.decode(Refused, answer.message.body))
    return answer


def _refusal(refused: Refused) -> CommitteeError | CryptoError:
    if refused.kind == CheaterError.__name__ and refused.members:
        return CheaterError(refused.members, refused.reason)
    return RefusedError(refused.reason)
