# SPDX-License-Identifier: Apache-2.0
"""Recipients of recalled versions as the record gives them: told by whom, answered with what.

The contract lets every account declare a file on every model.  These count:

1. deliveries, from the model's owner alone;
2. answers that the recipient itself declares, from the account that the owner declared with it;
3. answers that the owner declares, for any recipient.  An answer is signed by the recipient's account; if it
   has none, by any key, and the owner vouches that the key is the recipient's.

An answer names the node that replaced the version, so it answers no other recall, and cannot have been
signed before.  Of several answers the one of the latest time stands, in any order of their declarations.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from blockful_py.crypto import eip712
from blockful_py.errors import InvalidSignatureError, StorageError, VerificationError
from blockful_py.record.checks import require
from blockful_py.record.fields import of_octets, position
from blockful_py.record.recall.documents import (
    MAX_FILE_BYTES,
    DeclaredAnswers,
    Deliveries,
    Did,
    SignedAnswer,
    parse_declared,
)
from blockful_py.storage.cid import cid_string
from blockful_py.types import Address, Position, Uri

MAX_OWNER_FILES = 256
"""Files of a model's owner that are read, from the oldest on."""
MAX_UNREAD = 4
"""Files of an account and a model that cannot be read; later ones are not tried: a try may last long."""
MAX_ANSWERS = 16
"""Answers of a recipient that are checked, from the oldest on, for each account that declared some."""
MAX_RECIPIENT_FILES = 8
"""Files of a recipient's account that are read for a model, from the oldest on."""


class DeclaredFile(Protocol):
    """A file that an account declared on a model."""

    @property
    def position(self) -> Position: ...

    @property
    def by(self) -> Address: ...

    @property
    def uri(self) -> Uri: ...

    @property
    def block_number(self) -> int: ...


@dataclass(frozen=True, slots=True)
class RecordedModel:
    """A model on the record, as far as recalls need it.

    Attributes:
        version: the current one.
        nodes: by version, the CID of each version's node as text.
    """

    name: str
    owner: str
    version: int
    nodes: Mapping[int, str]

    def after(self, version: int) -> tuple[str, ...]:
        """The nodes that stood, or stand, in place of a version."""
        return tuple(node for later, node in self.nodes.items() if later > version)


@dataclass(frozen=True, slots=True)
class Given:
    """A recipient's answer that counts.

    `vouched`: the owner declared it, and no account of the recipient's is on the record.
    """

    answer: SignedAnswer
    signer: str
    vouched: bool


@dataclass(frozen=True, slots=True)
class Delivered:
    """A version that a recipient received.

    Attributes:
        recipient: 32 bytes in hexadecimal.
        account: the account that signs its answers, or None.
        recalled: whether the version was replaced or withdrawn.
        given: its answers by time, the one that stands last.
    """

    model: str
    position: str
    version: int
    recipient: str
    account: str | None
    recalled: bool
    given: tuple[Given, ...]

    @property
    def answered(self) -> Given | None:
        """The answer that stands."""
        return self.given[-1] if self.given else None

    @property
    def is_open(self) -> bool:
        """Whether the version is recalled, and the recipient has yet to answer."""
        return self.recalled and not self.given

    @property
    def contradicts(self) -> bool:
        """Whether the recipient once said that it had no copy left, and later that it keeps one."""
        gone = [each.answer.did in (Did.DELETED, Did.REPLACED, Did.NOT_RECEIVED) for each in self.given]
        return any(gone) and not gone[-1]


@dataclass(frozen=True, slots=True)
class Recipients:
    """All deliveries on the record.

    `unread`: CIDs of declared files that count and cannot be read, with the position of each file's model.
    """

    delivered: tuple[Delivered, ...]
    unread: Mapping[str, str]

    @property
    def open(self) -> tuple[Delivered, ...]:
        """Recipients of recalled versions who have yet to answer."""
        return tuple(each for each in self.delivered if each.is_open)


@dataclass(slots=True)
class _Files:
    """Numbers of files that an account declared on a model."""

    declared: int = 0
    unread: int = 0


@dataclass(slots=True)
class _Entry:
    """A delivery, and its answers so far."""

    account: str | None
    given: dict[bytes, Given] = field(default_factory=dict)
    checked: Counter[str] = field(default_factory=Counter)


Key = tuple[Position, int, str]


def signer_of(answer: SignedAnswer, account: str | None, model: RecordedModel, domain: eip712.Domain) -> str:
    """The account that signed an answer to a recall of `model`.

    `account`: the recipient's on the record, or None.  Raises VerificationError (`recall`).
    """
    must = partial(require, "recall", f"the answer on version {answer.version} of {model.name}")
    must(
        answer.replacement in model.after(answer.version),
        f"{answer.replacement} never stood in place of that version: it answers another recall",
    )
    try:
        signer = of_octets(answer.signer(domain))
    except InvalidSignatureError as error:
        must(False, str(error))
        raise
    must(account in (None, signer), f"it is signed by {signer}, and the recipient's account is {account}")
    return signer


def require_answer(
    answer: SignedAnswer,
    by: Address,
    found: Recipients,
    models: Mapping[Position, RecordedModel],
    domain: eip712.Domain,
) -> None:
    """Checks that an answer counts if the account `by` declares it.  Raises VerificationError (`recall`)."""
    must = partial(require, "recall", f"the answer on version {answer.version} at {answer.position}")
    key = (answer.position, answer.version, answer.recipient)
    delivered = [each for each in found.delivered if (each.position, each.version, each.recipient) == key]
    must(bool(delivered), "the record names no such recipient of it")
    model, account = models[position(answer.position)], delivered[0].account
    must(
        of_octets(by) in (model.owner, account),
        f"{of_octets(by)} is neither the model's owner nor the recipient's account, so it cannot declare it",
    )
    signer_of(answer, account, model, domain)


def recipients(
    declared: Iterable[DeclaredFile],
    models: Mapping[Position, RecordedModel],
    read: Callable[[Uri, int], bytes],
    domain: eip712.Domain,
) -> Recipients:
    """The recipients of these models.

    `declared`: oldest first.  `read`: a store's `read`.  `domain`: the live chain's.
    """
    reader = _DeclaredReader(models, read, domain)
    for each in declared:
        reader.add(each)
    return reader.result()


class _DeclaredReader:
    def __init__(
        self,
        models: Mapping[Position, RecordedModel],
        read: Callable[[Uri, int], bytes],
        domain: eip712.Domain,
    ) -> None:
        self._models = models
        self._read = read
        self._domain = domain
        self._entries: dict[Key, _Entry] = {}
        self._accounts: set[tuple[Position, str]] = set()
        self._files: dict[tuple[Position, str], _Files] = defaultdict(_Files)
        self._unread: dict[str, str] = {}

    def add(self, declared: DeclaredFile) -> None:
        model, by = self._models.get(declared.position), of_octets(declared.by)
        if model is None:
            return
        is_owner = by == model.owner
        if not is_owner and (declared.position, by) not in self._accounts:
            return
        files = self._files[declared.position, by]
        files.declared += 1
        if not is_owner and files.declared > MAX_RECIPIENT_FILES:
            return
        found = None
        if files.declared <= MAX_OWNER_FILES and files.unread < MAX_UNREAD:
            with suppress(StorageError):
                found = parse_declared(self._read(declared.uri, MAX_FILE_BYTES))
        if found is None:
            files.unread += 1
            self._unread[cid_string(declared.uri)] = str(declared.position)
            return
        if found.position != str(declared.position):
            return
        if isinstance(found, DeclaredAnswers):
            for answer in found.answers:
                self._answer(declared.position, model, answer, by)
        elif is_owner:
            self._deliver(declared.position, model, found)

    def _deliver(self, place: Position, model: RecordedModel, found: Deliveries) -> None:
        if found.version > model.version:
            return  # a version that there is not
        for each in found.recipients:
            key = (place, found.version, each.recipient)
            entry = self._entries.setdefault(key, _Entry(each.account))
            if entry.account is None and not entry.given:
                entry.account = each.account  # an account that became known later
            if entry.account is not None:
                self._accounts.add((place, entry.account))

    def _answer(self, place: Position, model: RecordedModel, answer: SignedAnswer, by: str) -> None:
        entry = self._entries.get((place, answer.version, answer.recipient))
        if entry is None or by not in (model.owner, entry.account) or entry.checked[by] >= MAX_ANSWERS:
            return
        entry.checked[by] += 1
        with suppress(VerificationError):
            signer = signer_of(answer, entry.account, model, self._domain)
            entry.given[answer.to_bytes()] = Given(answer, signer, entry.account is None)

    def result(self) -> Recipients:
        delivered = []
        for (place, version, recipient), entry in sorted(
            self._entries.items(), key=lambda item: (item[0][0].packed, *item[0][1:])
        ):
            model = self._models[place]
            given = tuple(
                each for _, each in sorted(entry.given.items(), key=lambda item: (item[1].answer.at, item[0]))
            )
            delivered.append(
                Delivered(
                    model=model.name,
                    position=str(place),
                    version=version,
                    recipient=recipient,
                    account=entry.account,
                    recalled=version < model.version,
                    given=given,
                )
            )
        return Recipients(tuple(delivered), self._unread)
