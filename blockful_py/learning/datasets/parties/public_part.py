# SPDX-License-Identifier: Apache-2.0
"""A party's public rows, on which AD_f and AD_r are measured, in a file that it hands to the founder.

The parquet file's metadata hold the column of the labels, the names of all classes of the party, its own
name and its account.
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
"""Share of each class that is public: one row at least of a class with two or more."""
KEY = b"blockful-public"


@dataclass(frozen=True, slots=True)
class AboutParty:
    """What a party says beside its public rows.

    Attributes:
        name: its own word, for people.
        account: 0x and 40 hexadecimal digits; empty in a laboratory.
    """

    name: str
    label: str
    classes: tuple[str, ...]
    account: str = ""

    @classmethod
    def of(cls, path: Path, rows: PartyRows, label: str, account: str = "") -> AboutParty:
        """What a party says of its whole file."""
        return cls(party_name(path), label, tuple(sorted(set(rows.columns[label]))), account)


def drawn_public(rows: PartyRows, label: str, stream: torch.Generator) -> tuple[list[int], list[int]]:
    """(public, kept) row numbers, each ascending.  Raises LearningError where no class has two rows."""
    classes: dict[str, list[int]] = {}
    for row, name in enumerate(rows.columns[label]):
        classes.setdefault(name, []).append(row)
    public = set[int]()
    for of_class in classes.values():
        count = max(1, round(SHARE * len(of_class))) if len(of_class) > 1 else 0
        public |= {of_class[i] for i in torch.randperm(len(of_class), generator=stream)[:count].tolist()}
    if not public:
        raise LearningError(
            f"{rows.source} has no class with two rows in column {label!r}: is that the column of the labels?"
        )
    return sorted(public), [row for row in range(len(rows)) if row not in public]


def write_public(path: Path, public: PartyRows, about: AboutParty) -> None:
    """Writes a party's public rows.  Raises SettingsError where that fails."""
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({name: list(values) for name, values in public.columns.items()})
    sink = pa.BufferOutputStream()
    parquet.write_table(table.replace_schema_metadata({KEY: json.dumps(asdict(about))}), sink)
    write_whole(path, sink.getvalue().to_pybytes(), SettingsError)


def about_public(path: Path) -> AboutParty | None:
    """What the party says whose public rows the file holds; None for another file.

    Raises SettingsError where it cannot be read.
    """
    if path.suffix.lower() != ".parquet" or not path.is_file():
        return None
    import pyarrow as pa
    from pyarrow import parquet

    from blockful_py.settings.validation import validated  # pydantic, which learning does without

    try:
        metadata: dict[bytes, bytes] = parquet.read_schema(path).metadata or {}
        return validated(AboutParty, parse_json(metadata[KEY])) if KEY in metadata else None
    except (pa.ArrowException, OSError, ValueError) as error:
        raise SettingsError(f"{path} cannot be read ({error}): ask the party for it again.") from None


def kept_rows(rows: PartyRows, path: Path) -> tuple[list[int], list[int]]:
    """(public, kept) row numbers of a party's file, by the public rows that were handed out in `path`.

    Raises LearningError where the file has changed since: a public row is not in it.
    """
    handed = Counter(_keys(read_rows(path)))
    public, kept = list[int](), list[int]()
    for number, row in enumerate(_keys(rows)):
        handed[row] -= 1
        (public if handed[row] >= 0 else kept).append(number)
    if missing := sum(count for count in handed.values() if count > 0):
        raise LearningError(
            f"{rows.source} has changed: {missing} rows that {path} made public are not in it. Take the file "
            "as it was."
        )
    if not kept:
        raise LearningError(f"{rows.source} has public rows alone: nothing is left to train on.")
    return public, kept


def _keys(rows: PartyRows) -> list[tuple[Any, ...]]:
    return list(zip(*(rows.columns[name] for name in sorted(rows.columns)), strict=True))
