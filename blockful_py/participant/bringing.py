# SPDX-License-Identifier: Apache-2.0
"""Reads a party's own file and writes its public rows, which the founder needs to make the federation."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from blockful_py.errors import SettingsError
from blockful_py.learning.datasets.parties.public_part import AboutParty, drawn_public, write_public
from blockful_py.learning.datasets.parties.rows import PartyRows, label_column, party_name, read_rows
from blockful_py.learning.streams import generator
from blockful_py.names import name_fault
from blockful_py.types import Address


@dataclass(frozen=True, slots=True)
class OwnFile:
    """The rows of a party's file and the name of their label column."""

    path: Path
    rows: PartyRows
    label: str

    @property
    def name(self) -> str:
        return party_name(self.path)

    @classmethod
    def read(cls, path: Path, label: str | None, person: str | None = None) -> Self:
        """Reads a party's file; `person` is the column that names persons.

        Raises as `read_rows` and `label_column`; SettingsError for a bad name.
        """
        if fault := name_fault(party_name(path), "party"):
            raise SettingsError(f"{path}: {fault}. Rename the file.")
        rows = read_rows(path, person)
        return cls(path, rows, label_column(rows, label))

    def hand_out(self, public: Path, account: Address) -> int:
        """Draws the public rows and writes them to `public`; returns their number."""
        drawn, _ = drawn_public(self.rows, self.label, generator(secrets.randbits(32), "public"))
        about = AboutParty.of(self.path, self.rows, self.label, "0x" + account.hex())
        write_public(public, self.rows.at(drawn), about)
        return len(drawn)
