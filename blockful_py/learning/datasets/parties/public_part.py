# SPDX-License-Identifier: Apache-2.0
"""A party's public rows, which AD_f and AD_r are measured on, in a file for the founder.

The parquet file's metadata hold the label column, the names of all the party's classes, its name and its
account.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from blockful_py.bounded_json import parse_json
from blockful_py.errors import LearningError, SettingsError
from blockful_py.learning.datasets.parties.rows import PartyRows, party_name, read_rows
from blockful_py.whole_file import write_whole

SHARE = 0.2
"""Share of each class that is public; at least one row of a class with two or more, if several have it."""
KEY = b"blockful-public"


@dataclass(frozen=True, slots=True)
class AboutParty:
    """A party's description of itself, stored with its public rows.

    Attributes:
        name: chosen by the party, for display.
        account: 0x and 40 hexadecimal digits; empty in a laboratory.
    """

    name: str
    label: str
    classes: tuple[str, ...]
    account: str = ""

    @classmethod
    def of(cls, path: Path, rows: PartyRows, label: str, account: str = "") -> AboutParty:
        """Describes the party of a whole file."""
        return cls(party_name(path), label, tuple(sorted(set(rows.columns[label]))), account)


def drawn_public(rows: PartyRows, label: str, stream: torch.Generator) -> tuple[list[int], list[int]]:
    """Draws the public rows; returns (public, kept) row numbers, each ascending.

    All rows of a person are on one side.  Persons are taken in random order, each if all its rows fit into
    the rest of their classes' SHARE.  Of a class without a public row then, if several persons have it,
    the one with the fewest rows becomes public.

    Raises LearningError if no class has two rows, or each class with two is one person's.
    """
    classes, groups = rows.columns[label], rows.by_person()
    counts = Counter(classes)
    left = {name: max(1, round(SHARE * count)) if count > 1 else 0 for name, count in counts.items()}
    shuffled = [groups[i] for i in torch.randperm(len(groups), generator=stream).tolist()]
    public = set[int]()
    for group in shuffled:
        held = Counter(classes[row] for row in group)
        if all(count <= left[name] for name, count in held.items()):
            public.update(group)
            for name, count in held.items():
                left[name] -= count
    for name in sorted(counts.keys() - {classes[row] for row in public}):
        holders = [group for group in shuffled if any(classes[row] == name for row in group)]
        if len(holders) > 1 and not any(classes[row] == name for row in public):
            smallest = min(holders, key=len)
            public.update(smallest)
    if not public:
        of_several = "" if rows.persons is None else " of several persons"
        raise LearningError(
            f"{rows.source} has no class with two rows{of_several} in column {label!r}: is that the column "
            "of the labels?"
        )
    return sorted(public), [row for row in range(len(rows)) if row not in public]


def write_public(path: Path, public: PartyRows, about: AboutParty) -> None:
    """Writes a party's public rows.  Raises SettingsError if that fails."""
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({name: list(values) for name, values in public.columns.items()})
    sink = pa.BufferOutputStream()
    parquet.write_table(table.replace_schema_metadata({KEY: json.dumps(asdict(about))}), sink)
    write_whole(path, sink.getvalue().to_pybytes(), SettingsError)


def about_public(path: Path) -> AboutParty | None:
    """The description of the party whose public rows the file holds; None for another file.

    Raises SettingsError if the file cannot be read.
    """
    if path.suffix.lower() != ".parquet" or not path.is_file():
        return None
    import pyarrow as pa
    from pyarrow import parquet

    from blockful_py.settings.validation import validated  # learning does not depend on pydantic

    try:
        metadata: dict[bytes, bytes] = parquet.read_schema(path).metadata or {}
        return validated(AboutParty, parse_json(metadata[KEY])) if KEY in metadata else None
    except (pa.ArrowException, OSError, ValueError) as error:
        raise SettingsError(f"{path} cannot be read ({error}): ask the party for it again.") from None


def kept_rows(rows: PartyRows, path: Path) -> tuple[list[int], list[int]]:
    """Splits a party's file by the public rows handed out in `path`; returns (public, kept) row numbers.

    A public row that several persons have counts as the one's whose rows are all public, if there is one.
    Raises LearningError if the file has changed since and lacks a public row.
    """
    handed, keys = Counter(_keys(read_rows(path))), _keys(rows)
    public = set[int]()
    whole = sorted(rows.by_person(), key=len, reverse=True)
    for group in (*whole, *([row] for row in range(len(rows)))):
        held = Counter(keys[row] for row in group)
        if public.isdisjoint(group) and all(count <= handed[row] for row, count in held.items()):
            public.update(group)
            handed.subtract(held)
    kept = [row for row in range(len(rows)) if row not in public]
    if missing := handed.total():
        raise LearningError(
            f"{rows.source} has changed: {missing} rows that {path} made public are not in it. Take the file "
            "as it was."
        )
    if not kept:
        raise LearningError(f"{rows.source} has only public rows: no row is left to train on.")
    return sorted(public), kept


def _keys(rows: PartyRows) -> list[tuple[Any, ...]]:
    return list(zip(*(rows.columns[name] for name in sorted(rows.columns)), strict=True))
