# SPDX-License-Identifier: Apache-2.0
"""A participant's index from a person to the rows of its own samples, in a locked document.

    person = HMAC-SHA256(HKDF-SHA256(encryption secret, DST_PERSON), identifier)    as 64 hexadecimal digits

`identifier` is normalised (`learning.datasets.parties.rows.identifier`).  So the file tells its size alone
without the folder's keys, and has no identifier in it even with them.
"""

from __future__ import annotations

import hashlib
import hmac
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from blockful_py.crypto import secretbox
from blockful_py.crypto.chameleon import tag
from blockful_py.errors import RunError, SettingsError
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.learning.datasets.parties.rows import identifier
from blockful_py.participant.locked_document import LockedDocument
from blockful_py.record.fields import Part
from blockful_py.record.request import Number

if TYPE_CHECKING:
    from blockful_py.participant.folder import ParticipantFolder

DST_PERSON = tag("person")
MAX_INDEX_BYTES = 1 << 28
"""Maximum bytes of an index; one of 10^6 persons with one row each has about 8 * 10^7."""

Person = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class PersonIndex(Part):
    """Rows by person.

    Attributes:
        column: the column that names persons.
        samples: SHA-256 of the file of samples that the rows belong to, in hexadecimal.
        size: number of samples trained on.
        trained: a person's rows among the samples trained on, from 0.
        tested: a person's number of test samples.
        handed_out: whether the test samples are public rows, which everybody has.
    """

    format: Literal["blockful-persons/1"] = "blockful-persons/1"
    column: str
    samples: str = Field(pattern=r"^[0-9a-f]{64}$")
    size: int = Field(ge=1)
    trained: dict[Person, tuple[Number, ...]]
    tested: dict[Person, int]
    handed_out: bool

    def said(self, without: int) -> list[str]:
        """The index in words; `without` rows have no person."""
        rows = sum(map(len, self.trained.values())) + sum(self.tested.values())
        both = len(self.trained.keys() & self.tested.keys())
        lines = [
            f"{len(self.trained.keys() | self.tested.keys()):,} persons by column {self.column!r}, with "
            f"{rows:,} rows; {len(self.trained):,} have rows to train on"
        ]
        if without:
            lines.append(
                f"{without:,} rows have no person in column {self.column!r}: nobody can ask for them"
            )
        if both and self.handed_out:
            lines.append(
                f"persons with public rows and others: {both:,}; public rows cannot be taken back. "
                "`participant init --person` keeps persons whole."
            )
        return lines


class Persons:
    """The index in a participant's folder, which its keys open."""

    def __init__(self, folder: ParticipantFolder, keys: ReaderKeys) -> None:
        self._folder = folder
        self._key = secretbox.derive(keys.encryption_secret, DST_PERSON)
        self._file = LockedDocument(folder.persons, PersonIndex, keys, MAX_INDEX_BYTES)

    def name(self, text: str) -> str:
        """The person of an identifier, as the index names it.  Raises SettingsError for an empty one."""
        plain = identifier(text)
        if plain is None:
            raise SettingsError(
                "an identifier is empty, or a word for a missing value: give the person's own."
            )
        return self._name(plain)

    def column(self) -> str | None:
        """The column that the present index was made by; None without an index.  Raises as `read`."""
        index = self._file.read()
        return None if index is None else index.column

    def make(
        self,
        column: str,
        persons: tuple[Sequence[str | None], Sequence[str | None]],
        samples: Path,
        handed_out: bool,
    ) -> list[str]:
        """Makes the index of the persons of train and test samples; returns a report.

        Raises SettingsError if no row has a person.
        """
        trained: dict[str, list[int]] = {}
        for row, person in enumerate(persons[0]):
            if person is not None:
                trained.setdefault(person, []).append(row)
        tested = Counter(person for person in persons[1] if person is not None)
        if not (trained or tested):
            raise SettingsError(f"no row has a person in column {column!r}: name another with --person.")
        index = PersonIndex(
            column=column,
            samples=_digest(samples),
            size=len(persons[0]),
            trained={self._name(person): tuple(rows) for person, rows in trained.items()},
            tested={self._name(person): count for person, count in tested.items()},
            handed_out=handed_out,
        )
        self._file.write(index)
        return index.said(sum(person is None for part in persons for person in part))

    def read(self) -> PersonIndex:
        """The index of the samples that the participant trains on.

        Raises RunError without an index, or if it is of other samples; KeystoreError if it cannot be read.
        """
        again = (
            f"repeat `blockful participant join {shlex.quote(str(self._folder.path))} --person COLUMN ...`"
        )
        index, (_, joined) = self._file.read(), self._folder.opened()
        if index is None:
            raise RunError(f"{self._folder.path} does not know which rows are whose: {again} with your file.")
        samples = Path(joined.data or "")
        if not samples.is_file() or _digest(samples) != index.samples:
            raise RunError(
                f"{self._folder.persons} belongs to other samples than {samples}, which changed after it was "
                f"made: {again} with the file of these samples."
            )
        return index

    def _name(self, plain: str) -> str:
        return hmac.new(self._key, plain.encode(), hashlib.sha256).hexdigest()


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
