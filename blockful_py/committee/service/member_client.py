# SPDX-License-Identifier: Apache-2.0
"""Asks one member at its URL: signed questions, verified answers, limited in time and size."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from blockful_py import pinned_http
from blockful_py.committee import codec, wire
from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.limits import REFUSAL, RETRY_SECONDS
from blockful_py.committee.service.messages import NOBODY, Empty, Identity, Refused
from blockful_py.committee.wire import MAX_LINE, PATH, first_line
from blockful_py.errors import (
    BusyError,
    CheaterError,
    CommitteeError,
    CryptoError,
    MessageError,
    RefusedError,
    TooLongError,
    UnreachableError,
)
from blockful_py.storage.fetch import Machine, Sign
from blockful_py.types import Address

MAX_REASON = 2048
"""Maximum bytes read from the reason of an unsigned refusal."""

LimitOf = Callable[[bytes], int]
"""Maximum length of the answer's body, given its first line; raises MessageError for a wrong line."""


def post(
    url: str,
    data: bytes,
    seconds: float,
    limit_of: LimitOf,
    voter: Address | None = None,
    inside: bool = True,
) -> bytes:
    """Posts `data` to the member at `url` and returns the whole answer, received within `seconds`.

    `voter` and `inside` are as in `pinned_http.stream`.

    Raises:
        SettingsError: not a URL such as http://127.0.0.1:7001 or https://192.0.2.1:7001.
        UnreachableError: the member did not answer in time.
        BusyError: the member asks for a later retry.
        MessageError: the member rejects the message, or its answer or certificate is invalid.
    """

    async def exchange() -> bytes:
        async with asyncio.timeout(seconds):
            return await _exchange(url, data, limit_of, voter, inside)

    try:
        return asyncio.run(exchange())
    except TimeoutError:
        raise UnreachableError(f"the member at {url} did not answer within {seconds:g} s") from None


async def _exchange(url: str, data: bytes, limit_of: LimitOf, voter: Address | None, inside: bool) -> bytes:
    headers = {"content-type": "application/json"}
    async with pinned_http.stream("POST", url, PATH, voter, headers, data, inside=inside) as answer:
        if answer.status_code == 200:
            return await _read(answer.aiter_raw(), limit_of, url)
        reason = (await _upto(answer.aiter_raw(), MAX_REASON)).decode(errors="replace")[:300]
        if answer.status_code == 503:
            raise BusyError(f"the member at {url} is busy: {reason}")
        raise MessageError(f"the member at {url} did not accept a message: {reason}")


async def _read(chunks: AsyncIterator[bytes], limit_of: LimitOf, url: str) -> bytes:
    """Reads a message whose body is no longer than its first line allows."""
    read = bytearray()
    allowed: int | None = None
    async for chunk in chunks:
        read += chunk
        if allowed is None and (b"\n" in chunk or len(read) >= MAX_LINE):
            line = first_line(read)
            allowed = len(line) + limit_of(line)
        if allowed is not None and len(read) > allowed:
            raise TooLongError(f"the member at {url} answers more than {allowed} bytes")
    return bytes(read)


async def _upto(chunks: AsyncIterator[bytes], size: int) -> bytes:
    """The first `size` bytes, or fewer if there are no more."""
    read = bytearray()
    async for chunk in chunks:
        read += chunk
        if len(read) >= size:
            break
    return bytes(read[:size])


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
