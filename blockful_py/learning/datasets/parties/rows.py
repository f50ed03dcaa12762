# SPDX-License-Identifier: Apache-2.0
"""Reads one party's file: CSV, parquet, or a folder of images with a folder for each class."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blockful_py.errors import LearningError, SettingsError
from blockful_py.extras import needed_by
from blockful_py.learning.datasets.shards import LARGEST_ROW, plain_column, why_unreadable

TABLES = (".csv", ".parquet")
PICTURES = frozenset({".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".gif", ".webp", ".ppm", ".jp2"})
IMAGE, LABEL = "image", "label"
"""Columns of a folder of images."""
GUESSED = ("label", "class", "target", "y")
"""Names of label columns, in any case; without a match, the last column is the label."""
MISSING = frozenset({"", "?", "NA", "N/A", "NaN", "nan", "NULL", "null", "None"})
"""Texts that mean a missing value."""


@dataclass(frozen=True, slots=True)
class PartyRows:
    """n rows of a party.

    Attributes:
        source: the path, for error messages.
        columns: the n values of each column: texts as written, or the bytes of image files.
        persons: the n identifiers of the rows' persons (`identifier`), which are in no column; None if no
            column names persons.
    """

    source: str
    columns: Mapping[str, Sequence[Any]]
    persons: Sequence[str | None] | None = None

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def at(self, rows: Sequence[int]) -> PartyRows:
        """The rows with these numbers, from 0, without their persons."""
        return PartyRows(self.source, {name: [each[i] for i in rows] for name, each in self.columns.items()})

    def images(self) -> tuple[str, ...]:
        """Columns that hold image files."""
        return tuple(name for name, values in self.columns.items() if isinstance(values[0], bytes))

    def by_person(self) -> list[list[int]]:
        """Row numbers, ascending: each person's together, and each row without a person alone."""
        groups: dict[str | int, list[int]] = {}
        for row, person in enumerate(self.persons or [None] * len(self)):
            groups.setdefault(row if person is None else person, []).append(row)
        return list(groups.values())


def identifier(text: str) -> str | None:
    """The identifier of a person in a text: in Unicode's form NFC, without white space around it.

    None for MISSING texts.  Upper and lower case and leading zeros count.
    """
    plain = unicodedata.normalize("NFC", text).strip()
    return None if plain in MISSING else plain


def is_party_file(name: str) -> bool:
    """Whether `name` is a table or a folder, rather than a data set or a file of samples."""
    return name.lower().endswith(TABLES) or Path(name).is_dir()


def party_name(path: Path) -> str:
    """A party's name: its file's name without the extension."""
    return path.stem if path.suffix.lower() in TABLES else path.name


def read_rows(path: Path, person: str | None = None) -> PartyRows:
    """Reads a file; error messages count rows from 1, without a table's header.

    `person`: the column of a table that identifies each row's person.

    Raises:
        SettingsError: the file is missing or of another kind, it has no column `person`, or the extra `data`
            is not installed.
        LearningError: the file is damaged or empty, a column has no name or a duplicate one, a value is
            missing, or the persons are neither texts nor whole numbers.
    """
    with needed_by("a party's own file"):
        import pyarrow  # noqa: F401
    persons = None
    if path.is_dir():
        if person is not None:
            raise SettingsError(f"{path} has images and no column {person!r} of persons: take a table.")
        columns = _pictures(path)
    elif not path.exists():
        raise SettingsError(f"there is no file or folder {path}: name a party's data.")
    elif path.suffix.lower() in TABLES:
        columns, persons = _table(path, person)
    else:
        raise SettingsError(
            f"{path} is neither {' nor '.join(TABLES)} nor a folder of images: save it as one of them."
        )
    for name, values in columns.items():
        missing = (i for i, value in enumerate(values, start=1) if value is None or value in MISSING)
        if row := next(missing, None):
            raise LearningError(
                f"{path} has no value in row {row}, column {name!r}: fill it in or drop the row."
            )
    return PartyRows(str(path), columns, persons)


def label_column(rows: PartyRows, asked: str | None) -> str:
    """The label column: the requested one, else by GUESSED.  Raises SettingsError."""
    names = [name for name in rows.columns if name not in rows.images()]
    if asked is not None:
        if asked not in names:
            raise SettingsError(
                f"{rows.source} has no column {asked!r} of labels; it has {', '.join(names)}."
            )
        return asked
    return next((name for guess in GUESSED for name in names if name.lower() == guess), names[-1])


def _table(path: Path, person: str | None) -> tuple[dict[str, list[Any]], list[str | None] | None]:
    """The columns of a table, and its persons, if `person` names their column."""
    import pyarrow as pa

    try:
        table = _csv(path) if path.suffix.lower() == ".csv" else _parquet(path)
        _require_names(path, table.column_names)
        if person is not None:
            _require_persons(path, table, person)
        columns = {
            name: _values(plain_column(each))
            for name, each in zip(table.column_names, table.columns, strict=True)
        }
    except (pa.ArrowException, OSError) as error:
        raise LearningError(
            f"{path} cannot be read as {path.suffix[1:].lower()} {why_unreadable(path, error)}"
        ) from None
    if not table.num_rows:
        raise LearningError(f"{path} has no rows: give the data of the party.")
    if person is None:
        return columns, None
    return columns, [None if value is None else identifier(value) for value in columns.pop(person)]


def _csv(path: Path) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    read, parse = csv.ReadOptions(block_size=LARGEST_ROW), csv.ParseOptions(newlines_in_values=True)
    with csv.open_csv(path, read, parse) as file:
        names = file.schema.names
    return csv.read_csv(path, read, parse, csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())))


def _parquet(path: Path) -> Any:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        return file.read()


def _values(column: Any) -> list[Any]:
    import pyarrow as pa

    kept = column if pa.types.is_large_binary(column.type) else column.cast(pa.large_string())
    values: list[Any] = kept.to_pylist()
    return [value.strip() if isinstance(value, str) else value for value in values]


def _require_names(path: Path, names: Sequence[str]) -> None:
    if len(names) < 2:
        raise LearningError(
            f"{path} has one column, {', '.join(names)!r}: give features and a label, separated by commas."
        )
    for name in names:
        if not name.strip() or name.startswith("__index_level_"):
            raise LearningError(
                f"{path} has a column without a name, such as an index: leave it out (pandas: index=False)."
            )
        if names.count(name) > 1:
            raise LearningError(f"{path} has column {name!r} {names.count(name)} times: keep one.")


def _require_persons(path: Path, table: Any, person: str) -> None:
    import pyarrow as pa

    names = table.column_names
    if person not in names:
        raise SettingsError(f"{path} has no column {person!r} of persons; it has {', '.join(names)}.")
    if len(names) < 3:
        raise LearningError(f"{path} has one column beside {person!r}: give features and a label.")
    kind = plain_column(table[person]).type
    if not (pa.types.is_large_string(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise LearningError(
            f"{path} has column {person!r} of persons as {kind}, which can write one identifier in several "
            "ways: save it as text or as whole numbers."
        )


def _pictures(folder: Path) -> dict[str, list[Any]]:
    """Reads the images in the class folders, ascending by path."""
    files = [
        path
        for path in sorted(folder.glob("*/*"))
        if path.suffix.lower() in PICTURES and not path.name.startswith(".")
    ]
    if not files:
        raise LearningError(
            f"{folder} has no images in folders named after their classes, such as {folder.name}/cat/1.png."
        )
    return {IMAGE: [path.read_bytes() for path in files], LABEL: [path.parent.name for path in files]}
