# SPDX-License-Identifier: Apache-2.0
"""Files that are declared on a model: its recipients, and their answers to a recall."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from blockful_py.crypto import eip712, signature
from blockful_py.errors import FormatError, InvalidSignatureError
from blockful_py.record.fields import (
    Address,
    Cid,
    Hash,
    Part,
    Place,
    Seconds,
    Signature,
    Small,
    octets,
    of_octets,
    parsed,
    spelt,
)
from blockful_py.storage.cid import parse_cid
from blockful_py.types import Bytes32

MAX_ENTRIES = 4096
"""Maximum number of recipients or answers in a file."""
MAX_FILE_BYTES = 4 << 20
SALT_BYTES = 32


class Did(StrEnum):
    """A recipient's own word on a recalled version: the fate of its copies."""

    DELETED = "deleted"
    REPLACED = "replaced"
    KEPT = "kept"
    NOT_RECEIVED = "not-received"


@dataclass(frozen=True, slots=True)
class RecallAnswer:
    """The struct that a recipient signs.

    Attributes:
        model: "height:index" of the model.
        version: the recalled version.
        replacement: digest of the CID of the node that stands in its place, which nobody knows before the
            recall.
        recipient: as the owner declared it.
        did: a value of `Did`.
        at: time in seconds.
    """

    model: str = eip712.typed("string")
    version: int = eip712.typed("uint32")
    replacement: bytes = eip712.typed("bytes32")
    recipient: bytes = eip712.typed("bytes32")
    did: str = eip712.typed("string")
    at: int = eip712.typed("uint64")


class Recipient(Part):
    """A recipient, with the account that signs its answers, if it has one.

    `recipient`: 32 bytes, of an account (`of_account`) or of a name (`of_name`).
    """

    recipient: Hash
    account: Address | None

    @model_validator(mode="after")
    def _accounts_agree(self) -> Self:
        if self.recipient.startswith(ACCOUNT_PREFIX) and self.recipient != _padded(self.account):
            raise ValueError("a recipient known by its account answers with that account")
        return self


ACCOUNT_PREFIX = "0x" + "00" * 12


def of_account(account: bytes) -> Hash:
    """An account (20 bytes) as a recipient: 12 zero bytes before it."""
    return _padded(of_octets(account))


def _padded(account: str | None) -> str:
    return "" if account is None else ACCOUNT_PREFIX + account[2:]


def of_name(name: str, salt: Bytes32) -> Hash:
    """A name as a recipient: SHA-256(salt || name in UTF-8).

    Without the salt nobody can try names.  Whoever has it shows who a recipient is; without it, once its
    holder deletes it, the record says nothing of the name.
    """
    return of_octets(sha256(salt + name.encode()).digest())


class Deliveries(Part):
    """The owner's statement on who received a version; `recipients` in ascending order, each once."""

    format: Literal["blockful-deliveries/1"] = "blockful-deliveries/1"
    position: Place
    version: Small
    recipients: Annotated[tuple[Recipient, ...], Field(min_length=1, max_length=MAX_ENTRIES)]

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        named = [each.recipient for each in self.recipients]
        if named != sorted(set(named)):
            raise ValueError("recipients are named once each, in ascending order")
        return self

    def to_bytes(self) -> bytes:
        return spelt(self)


class SignedAnswer(Part):
    """A recipient's signed answer; fields as in `RecallAnswer`, `replacement` as a CID."""

    format: Literal["blockful-recall-answer/1"] = "blockful-recall-answer/1"
    position: Place
    version: Small
    replacement: Cid
    recipient: Hash
    did: Did
    at: Seconds
    signature: Signature

    def typed(self) -> RecallAnswer:
        return RecallAnswer(
            self.position,
            self.version,
            parse_cid(self.replacement).digest,
            octets(self.recipient),
            self.did.value,
            self.at,
        )

    def signer(self, domain: eip712.Domain) -> bytes:
        """The account that signed it, 20 bytes; `domain` is the live chain's.

        Raises InvalidSignatureError, also for an invalid CID.
        """
        try:
            digest = eip712.digest(domain, self.typed())
        except FormatError as error:
            raise InvalidSignatureError(str(error)) from None
        return signature.recover(digest, octets(self.signature))

    def signed(self, domain: eip712.Domain, secret: int) -> SignedAnswer:
        """The same answer, signed with an account's secret."""
        made = signature.sign(secret, eip712.digest(domain, self.typed()))
        return self.model_copy(update={"signature": of_octets(made)})

    def to_bytes(self) -> bytes:
        return spelt(self)


UNSIGNED: Signature = "0x" + "00" * 64


class DeclaredAnswers(Part):
    """Answers on one model, declared together."""

    format: Literal["blockful-answers/1"] = "blockful-answers/1"
    position: Place
    answers: Annotated[tuple[SignedAnswer, ...], Field(min_length=1, max_length=MAX_ENTRIES)]

    @model_validator(mode="after")
    def _of_one_model(self) -> Self:
        if any(each.position != self.position for each in self.answers):
            raise ValueError("all answers of a file are on its model")
        return self

    def to_bytes(self) -> bytes:
        return spelt(self)


def parse_answer(data: bytes) -> SignedAnswer:
    """Parses one answer.  Raises FormatError, which names the invalid field."""
    return parsed(SignedAnswer, data, "answer to a recall", MAX_FILE_BYTES)


def parse_declared(data: bytes) -> Deliveries | DeclaredAnswers:
    """Parses a declared file.  Raises FormatError, which names the invalid field."""
    if b'"blockful-deliveries/1"' in data[:MAX_FILE_BYTES]:
        return parsed(Deliveries, data, "file of recipients", MAX_FILE_BYTES)
    return parsed(DeclaredAnswers, data, "file of answers", MAX_FILE_BYTES)


def together(position: str, answers: Sequence[SignedAnswer]) -> DeclaredAnswers:
    """One file of answers on a model, in the order of recipients and times."""
    return DeclaredAnswers(
        position=position, answers=tuple(sorted(answers, key=lambda each: (each.recipient, each.at)))
    )
