# SPDX-License-Identifier: Apache-2.0
"""Signed messages between members and their leaders.

The signature (EIP-712) binds a message to the chain and the Committee contract (domain), the epoch, the
subject (proposal or key generation), the round, the sender and the recipient.  An answer names the digest of
the message that it answers, so neither can be used elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

from blockful_py.committee import codec
from blockful_py.crypto import curve, eip712, signature
from blockful_py.crypto.randomness import system_rng
from blockful_py.errors import CryptoError, MessageError
from blockful_py.types import Rng

VERSION = "blockful-committee/1"
MAX_MESSAGE = 32 * 1024 * 1024
"""Bytes of a message: a batch of 2,000 collisions by a hundred signers."""

ANSWERED = "answered"
REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Message:
    """The signed content of a message.

    Attributes:
        kind: label of the question (`service.messages.MessageKind`), or ANSWERED or REFUSED.
        epoch: of the committee that decides, or of the key that is generated.
        subject: proposal or key generation, 32 bytes.
        round: step of the subject, from 1.
        sender, recipient: addresses of their keys.
        reference: 32 bytes drawn for a question; the question's digest for an answer.
        body: a value encoded by `codec`.
    """

    kind: str = eip712.typed("string")
    epoch: int = eip712.typed("uint64")
    subject: bytes = eip712.typed("bytes32")
    round: int = eip712.typed("uint32")
    sender: bytes = eip712.typed("address")
    recipient: bytes = eip712.typed("address")
    reference: bytes = eip712.typed("bytes32")
    body: bytes = eip712.typed("bytes")


@dataclass(frozen=True, slots=True)
class Envelope:
    """A message in transit."""

    version: str
    kind: str
    epoch: int
    subject: bytes
    round: int
    sender: bytes
    recipient: bytes
    reference: bytes
    body: str
    signature: bytes


@dataclass(frozen=True, slots=True)
class Received:
    """A message with a valid signature, its digest, and its encoded envelope (to relay it)."""

    message: Message
    digest: bytes
    envelope: bytes


def domain(chain_id: int, committee: bytes) -> eip712.Domain:
    """EIP-712 domain of messages; votes have another one."""
    return eip712.Domain(chain_id, committee, name="BlockFUL committee messages")


class MessageSigner:
    """Signs messages with one key."""

    def __init__(self, secret: int, domain: eip712.Domain, rng: Rng = system_rng) -> None:
        self._secret = secret
        self._rng = rng
        self.domain = domain
        self.address = curve.address(curve.multiply_base(secret))

    def question(
        self, kind: str, epoch: int, subject: bytes, round_: int, recipient: bytes, body: bytes
    ) -> Received:
        """A question with a fresh reference."""
        return self._signed(
            Message(kind, epoch, subject, round_, self.address, recipient, self._rng(32), body)
        )

    def answer(self, question: Received, kind: str, body: bytes) -> Received:
        """An answer to the sender of `question`."""
        asked = question.message
        subject = (asked.epoch, asked.subject, asked.round)
        return self._signed(Message(kind, *subject, self.address, asked.sender, question.digest, body))

    def _signed(self, message: Message) -> Received:
        digest = eip712.digest(self.domain, message)
        envelope = Envelope(
            VERSION,
            message.kind,
            message.epoch,
            message.subject,
            message.round,
            message.sender,
            message.recipient,
            message.reference,
            message.body.decode(),
            signature.sign(self._secret, digest),
        )
        return Received(message, digest, codec.encode(envelope))


def receive(domain: eip712.Domain, data: bytes) -> Received:
    """Reads a message that anybody may have sent.

    Raises MessageError when it is too long, malformed, of another version, or not signed by its sender
    for this domain.
    """
    if len(data) > MAX_MESSAGE:
        raise MessageError(f"a message has {len(data)} bytes, {MAX_MESSAGE} are allowed.")
    envelope = codec.decode(Envelope, data)
    if envelope.version != VERSION:
        raise MessageError(f"a message has version {envelope.version[:40]!r}, {VERSION!r} was expected.")
    try:
        message = Message(
            envelope.kind,
            envelope.epoch,
            envelope.subject,
            envelope.round,
            envelope.sender,
            envelope.recipient,
            envelope.reference,
            envelope.body.encode(),
        )
        digest = eip712.digest(domain, message)
        signer = signature.recover(digest, envelope.signature)
    except (ValueError, CryptoError) as error:
        raise MessageError(f"a message has no valid signature: {error}") from None
    if signer != message.sender:
        raise MessageError(
            f"a message from 0x{message.sender.hex()} is not signed by it for this chain and committee."
        )
    return Received(message, digest, data)


def require_answer(question: Received, answer: Received, sender: bytes) -> None:
    """Raises MessageError unless `answer` is the answer of `sender` to `question`."""
    asked, answered = question.message, answer.message
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


def require_relayed(relayed: Received, asking: Message, sender: bytes, round_: int) -> None:
    """Raises MessageError unless `relayed` is the answer of `sender` in a round to the sender of `asking`."""
    answer = relayed.message
    expected = (ANSWERED, asking.epoch, asking.subject, round_, sender, asking.sender)
    received = (answer.kind, answer.epoch, answer.subject, answer.round, answer.sender, answer.recipient)
    if received != expected:
        raise MessageError(
            f"a relayed message is not the answer of 0x{sender.hex()} in round {round_} of this subject."
        )
