# SPDX-License-Identifier: Apache-2.0
"""The publisher's own list of recipients: names, salts, webhooks.  It never leaves the publisher.

The record has hashes of names alone.  An entry that is deleted here leaves a hash there that nobody can tie
to a name.
"""

from __future__ import annotations

import csv
import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from blockful_py.errors import FormatError
from blockful_py.record.fields import Address, Hash, Part, Place, Small, first_error, octets, of_octets, spelt
from blockful_py.record.recall.documents import (
    MAX_ENTRIES,
    SALT_BYTES,
    Recipient,
    of_account,
    of_name,
)
from blockful_py.whole_file import OWN, read_bounded, write_whole

MAX_BYTES = 64 << 20
MAX_LIST_BYTES = 4 << 20
COLUMNS = ("name", "account", "webhook")

Name = Annotated[str, Field(min_length=1, max_length=256)]
Webhook = Annotated[
    str, Field(max_length=2048, pattern=r"^(https://|http://(127\.0\.0\.1|localhost)[:/])[^\s@]+$")
]


class Addressee(Part):
    """A recipient as its publisher knows it: a name, an account, or both."""

    name: Name | None = None
    account: Address | None = None
    webhook: Webhook | None = None


class BookEntry(Part):
    """A delivery of a version; `salt` of a name, 32 bytes."""

    position: Place
    version: Small
    addressee: Addressee
    salt: Hash | None

    @property
    def recipient(self) -> Recipient:
        """The recipient as the record has it."""
        name, account, salt = self.addressee.name, self.addressee.account, self.salt
        if name is not None and salt is not None:
            return Recipient(recipient=of_name(name, octets(salt)), account=account)
        return Recipient(recipient=of_account(octets(account or "")), account=account)


class AddressBook(Part):
    """The deliveries of a run's models."""

    format: Literal["blockful-recipients/1"] = "blockful-recipients/1"
    entries: tuple[BookEntry, ...] = ()

    @classmethod
    def read(cls, path: Path) -> AddressBook:
        """Reads the file; an absent one is empty.  Raises FormatError."""
        if not path.exists():
            return cls()
        data = read_bounded(path, MAX_BYTES, f"the list of recipients {path}")
        try:
            return cls.model_validate_json(data)
        except ValidationError as error:
            raise FormatError(
                f"{path} is no list of recipients ({first_error(error)}): put it back from a copy."
            ) from None

    def write(self, path: Path) -> None:
        """Replaces the file, which its owner alone can read.  Raises RunError."""
        write_whole(path, spelt(self), mode=OWN)

    def with_delivered(self, position: str, version: int, addressees: Iterable[Addressee]) -> AddressBook:
        """The book with these deliveries too; one that it has is updated and keeps its salt."""
        known = {_key(each): each for each in self.entries}
        for each in addressees:
            entry = BookEntry(
                position=position,
                version=version,
                addressee=each,
                salt=None if each.name is None else of_octets(secrets.token_bytes(SALT_BYTES)),
            )
            before = known.get(_key(entry))
            known[_key(entry)] = entry if before is None else entry.model_copy(update={"salt": before.salt})
        return AddressBook(entries=tuple(known.values()))

    def of(self, position: str, version: int) -> tuple[BookEntry, ...]:
        """The deliveries of a version."""
        return tuple(each for each in self.entries if (each.position, each.version) == (position, version))

    def by_recipient(self) -> dict[tuple[str, int, str], Addressee]:
        """The addressees by position, version and recipient."""
        return {
            (each.position, each.version, each.recipient.recipient): each.addressee for each in self.entries
        }


def _key(entry: BookEntry) -> tuple[str, int, str]:
    named = entry.addressee
    return entry.position, entry.version, named.name or named.account or ""


def read_addressees(path: Path) -> tuple[Addressee, ...]:
    """Reads a CSV file with a column `name` or `account`, or both, and perhaps `webhook`.

    Raises FormatError, which names the line, for anything else, for a repeated recipient, and for more than
    MAX_ENTRIES of them.
    """
    data = read_bounded(path, MAX_LIST_BYTES, f"the list of recipients {path}")
    try:
        rows = list(csv.reader(data.decode("utf-8-sig").splitlines(), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise FormatError(f"{path} is no CSV file in UTF-8 ({error}).") from None
    heads = rows[0] if rows else []
    if not {"name", "account"} & set(heads) or not set(heads) <= set(COLUMNS) or len(set(heads)) < len(heads):
        raise FormatError(
            f"{path} begins with the columns {','.join(heads) or '(none)'}: expected name or account, and "
            "perhaps webhook."
        )
    return _addressees(path, heads, rows[1:])


def _addressees(path: Path, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[Addressee, ...]:
    found: dict[str, Addressee] = {}
    for number, row in enumerate(rows, start=2):
        values = {head: value.strip() for head, value in zip(heads, row, strict=False) if value.strip()}
        if not values:
            continue
        if "account" in values:
            values["account"] = values["account"].lower()
        who = values.get("name") or values.get("account") or ""
        try:
            addressee = Addressee.model_validate(values)
        except ValidationError as error:
            raise FormatError(f"{path}, line {number}: {first_error(error)}.") from None
        if len(row) > len(heads) or not who or who in found:
            raise FormatError(
                f"{path}, line {number}: a recipient has a name or an account, and is named once."
            )
        found[who] = addressee
    if not 0 < len(found) <= MAX_ENTRIES:
        raise FormatError(f"{path} names {len(found)} recipients: expected 1 to {MAX_ENTRIES}.")
    return tuple(found.values())
