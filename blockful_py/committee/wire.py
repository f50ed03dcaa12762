# SPDX-License-Identifier: Apache-2.0
"""Signed messages between members and their leaders.

A message consists of a line, its signed header as JSON, and a body.  The signature (EIP-712) binds the
keccak256 of the body to the chain and the Committee contract (domain), the epoch, the subject (proposal or
key generation), the round, the sender and the recipient.  An answer names the digest of its question, so
neither can be used elsewhere.  The line alone proves the sender, before any byte of the body is read.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from blockful_py.committee import codec
from blockful_py.crypto import curve, eip712, signature
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.randomness import system_rng
from blockful_py.errors import CryptoError, MessageError
from blockful_py.types import Address, Bytes32, Bytes64, Rng

VERSION = "blockful-committee/2"
PATH = "/message"
"""Path below a member's URL that accepts messages."""
SCHEME = "BlockFUL "
"""Prefix of a signed line in the Authorization header of a request for blocks."""
MAX_LINE = 1024
"""Maximum bytes of a message's first line, including its end."""

ANSWERED = "answered"
REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class MessageHeader:
    """The signed part of a message.

    Attributes:
        kind: label of the question (`service.messages.MessageKind`), or ANSWERED or REFUSED.
        epoch: epoch of the deciding committee, or of the key being generated.
        subject: proposal or key generation, 32 bytes.
        round: step of the subject, from 1.
        sender, recipient: addresses of their keys.
        reference: 32 random bytes in a question; the question's digest in an answer.
        body_hash: keccak256 of the body.
    """

    kind: str = eip712.typed("string")
    epoch: int = eip712.typed("uint64")
    subject: Bytes32 = eip712.typed("bytes32")
    round: int = eip712.typed("uint32")
    sender: Address = eip712.typed("address")
    recipient: Address = eip712.typed("address")
    reference: Bytes32 = eip712.typed("bytes32")
    body_hash: Bytes32 = eip712.typed("bytes32")


@dataclass(frozen=True, slots=True)
class Message(MessageHeader):
    """A header with its body, a value encoded by `codec`."""

    body: bytes = b""


@dataclass(frozen=True, slots=True)
class FirstLine:
    """The first line of a message: its header, signed."""

    version: str
    header: MessageHeader
    signature: Bytes64


@dataclass(frozen=True, slots=True)
class Received:
    """A message with a valid signature, its digest and its first line."""

    message: Message
    digest: Bytes32
    line: bytes

    @property
    def envelope(self) -> bytes:
        """The encoded message, to send or relay."""
        return self.line + self.message.body


@dataclass(frozen=True, slots=True)
class Signed:
    """A header with a valid signature, its digest and its first line."""

    header: MessageHeader
    digest: Bytes32
    line: bytes

    def with_body(self, body: bytes) -> Received:
        """The whole message.  Raises MessageError when the sender signed another body."""
        if keccak(body) != self.header.body_hash:
            raise MessageError("the body of a message is not the one that its sender signed.")
        values = {each.name: getattr(self.header, each.name) for each in fields(MessageHeader)}
        return Received(Message(**values, body=body), self.digest, self.line)


def domain(chain_id: int, committee: Address) -> eip712.Domain:
    """EIP-712 domain of messages, distinct from the domain of votes."""
    return eip712.Domain(chain_id, committee, name="BlockFUL committee messages")


class MessageSigner:
    """Signs messages with one key."""

    def __init__(self, secret: int, domain: eip712.Domain, rng: Rng = system_rng) -> None:
        self._secret = secret
        self._rng = rng
        self.domain = domain
        self.address = curve.address(curve.multiply_base(secret))

    def question(
        self, kind: str, epoch: int, subject: bytes, round_: int, recipient: Address, body: bytes
    ) -> Received:
        """A question with a fresh reference."""
        header = MessageHeader(
            kind, epoch, subject, round_, self.address, recipient, self._rng(32), keccak(body)
        )
        return self._signed(header, body)

    def answer(self, question: Signed | Received, kind: str, body: bytes) -> Received:
        """An answer to the sender of `question`."""
        asked = question.header if isinstance(question, Signed) else question.message
        subject = (asked.epoch, asked.subject, asked.round)
        parties = (self.address, asked.sender)
        return self._signed(MessageHeader(kind, *subject, *parties, question.digest, keccak(body)), body)

    def _signed(self, header: MessageHeader, body: bytes) -> Received:
        digest = eip712.digest(self.domain, header)
        line = codec.encode(FirstLine(VERSION, header, signature.sign(self._secret, digest))) + b"\n"
        return Signed(header, digest, line).with_body(body)


def first_line(data: bytes | bytearray) -> bytes:
    """The first line of a message, with its end.  Raises MessageError when it is too long or has no end."""
    line, end, _ = bytes(data[:MAX_LINE]).partition(b"\n")
    if not end:
        raise MessageError(f"a message does not begin with a line of at most {MAX_LINE} bytes.")
    return line + end


def open_line(domain: eip712.Domain, line: bytes) -> Signed:
    """Reads the first line of a message from an untrusted sender.

    Raises MessageError when it is malformed, of another version, or not signed by its sender for this domain.
    """
    first = codec.decode(FirstLine, line.removesuffix(b"\n"))
    if first.version != VERSION:
        raise MessageError(f"a message has version {first.version[:40]!r}, {VERSION!r} was expected.")
    try:
        digest = eip712.digest(domain, first.header)
        signer = signature.recover(digest, first.signature)
    except (ValueError, CryptoError) as error:
        raise MessageError(f"a message has no valid signature: {error}") from None
    if signer != first.header.sender:
        raise MessageError(
            f"a message from 0x{first.header.sender.hex()} is not signed by it for this chain and committee."
        )
    return Signed(first.header, digest, line)


def receive(domain: eip712.Domain, data: bytes) -> Received:
    """Reads a whole message from an untrusted sender; the caller limits its length.

    Raises MessageError as `open_line` does, or when the sender signed another body.
    """
    line = first_line(data)
    return open_line(domain, line).with_body(data[len(line) :])


def require_answer(question: Received, answered: MessageHeader, sender: Address) -> None:
    """Checks that `answered` is the header of the answer of `sender` to `question`.  Raises MessageError."""
    asked = question.message
    expected = (asked.epoch, asked.subject, asked.round, sender, asked.sender, question.digest)
    received = (
        answered.epoch,
        answered.subject,
        answered.round,
        answered.sender,
        answered.recipient,
        answered.reference,
    )
    if received != expected or answered.kind not in (ANSWERED, REFUSED):
        raise MessageError("an answer is not from the member asked, or not to this question.")


def require_relayed(relayed: Received, asking: Message, sender: Address, round_: int) -> None:
    """Checks that `relayed` is the answer of `sender`, in a round, to the sender of `asking`.

    Raises MessageError.
    """
    answer = relayed.message
    expected = (ANSWERED, asking.epoch, asking.subject, round_, sender, asking.sender)
    received = (answer.kind, answer.epoch, answer.subject, answer.round, answer.sender, answer.recipient)
    if received != expected:
        raise MessageError(
            f"a relayed message is not the answer of 0x{sender.hex()} in round {round_} of this subject."
        )
