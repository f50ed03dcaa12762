# SPDX-License-Identifier: Apache-2.0
"""Reads the needed columns of a split's files, parquet or CSV, as one Arrow table.

Shards may differ in representation: order of columns, further columns, int32 or int64, string or
large_string, a column without any value, categories, images as bytes or with their path.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blockful_py.errors import LearningError
from blockful_py.learning.datasets.idx import IdxFiles
from blockful_py.settings import DataOptions


@dataclass(frozen=True, slots=True)
class Schema:
    """Columns and labels of a data set's tables.

    Attributes:
        hub: id on the Hugging Face hub.
        columns: input columns, named as on the hub; text columns are joined.
        label: label column, integers from 0.
        class_count: number of classes.
        test: split used as test data; "train" is the other split.
        idx: the data set's idx files, if it has any.
    """

    name: str
    hub: str
    columns: tuple[str, ...]
    label: str
    class_count: int
    test: str = "test"
    idx: IdxFiles | None = None

    def folder(self, options: DataOptions) -> Path | None:
        """The folder to read: the configured one, else an installed system package's; None for the hub."""
        if options.data_files is not None:
            return Path(options.data_files) if Path(options.data_files).is_dir() else None
        if self.idx is not None and self.idx.are_in(self.idx.installed):
            return self.idx.installed
        return None


SUFFIXES = (".parquet", ".csv")
LARGEST_ROW = 64 << 20
"""Maximum bytes of a row of a CSV file, and the block size of Arrow's parser."""

POINTER = b"version https://git-lfs.github.com/"
"""First bytes of a Git LFS pointer, which stands in for the data."""


def shards_in(folder: Path, splits: Iterable[str]) -> dict[str, list[Path]]:
    """The files of each split, at any depth, ascending.

    The last path component that begins with a split's name determines the split
    (`data/train-00000-of-00001.parquet`, `train/0000.parquet`).
    Raises LearningError if a split has files of both kinds, which may hold the same rows twice.
    """
    found: dict[str, list[Path]] = {split: [] for split in splits}
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in SUFFIXES and not path.name.startswith(".") and path.is_file():
            parts = (part.lower() for part in reversed(path.relative_to(folder).parts))
            named = (split for part in parts for split in found if part.startswith(split))
            if split := next(named, None):
                found[split].append(path)
    for split, paths in found.items():
        if len({path.suffix.lower() for path in paths}) > 1:
            raise LearningError(
                f"{folder} has {split} as parquet and as CSV ({paths[0].name}, {paths[-1].name}): "
                "keep one of the two in the folder."
            )
    return found


def read_shards(schema: Schema, paths: Sequence[Path]) -> Any:
    """Concatenates the rows of all files, in the columns that the schema needs.

    Raises LearningError if a file is damaged or lacks a column, or a column's types are incompatible.
    """
    import pyarrow as pa

    tables = [_read(schema, path) for path in paths]
    _require_alike(paths, tables)
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowInvalid as error:
        raise LearningError(f"{paths[0]} and the files beside it cannot be joined: {error}") from None


def needed_columns(schema: Schema, source: str, table: Any) -> Any:
    """The table's input and label columns, converted by `plain_column`.

    Raises LearningError if one is missing.
    """
    _require_columns(schema, source, table.column_names)
    names = [*schema.columns, schema.label]
    return type(table).from_arrays([plain_column(table[name]) for name in names], names)


def _require_columns(schema: Schema, source: str, names: Sequence[str]) -> None:
    wanted = (*schema.columns, schema.label)
    if missing := [column for column in wanted if column not in names]:
        raise LearningError(
            f"{source} has no column {', '.join(missing)}; it has {', '.join(names)}: "
            f"{schema.name!r} needs the columns that {schema.hub} has."
        )
    if twice := [column for column in wanted if names.count(column) > 1]:
        raise LearningError(f"{source} has column {twice[0]} {names.count(twice[0])} times: keep one.")


def plain_column(column: Any) -> Any:
    """Decodes categories, reduces images to their bytes, and casts texts and bytes to large types."""
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_struct(column.type) and column.type.get_field_index("bytes") >= 0:
        column = compute.struct_field(column, "bytes")
    if pa.types.is_string_view(column.type) or pa.types.is_string(column.type):
        return column.cast(pa.large_string())
    if pa.types.is_binary_view(column.type) or pa.types.is_binary(column.type):
        return column.cast(pa.large_binary())
    return column


def _read(schema: Schema, path: Path) -> Any:
    import pyarrow as pa

    kind = path.suffix[1:].lower()
    try:
        table = _csv(schema, path) if kind == "csv" else _parquet(schema, path)
    except PermissionError as error:
        raise LearningError(f"{path} cannot be read ({error.strerror}): change its permissions.") from None
    except (pa.ArrowException, OSError) as error:
        raise LearningError(f"{path} cannot be read as {kind} {why_unreadable(path, error)}") from None
    return needed_columns(schema, str(path), table)


def why_unreadable(path: Path, error: Exception) -> str:
    """The reason in brackets, followed by the remedy."""
    reason = str(error).splitlines()[0]
    with path.open("rb") as file:
        if file.read(len(POINTER)) == POINTER:
            return "(a pointer of Git LFS stands in its place): run `git lfs pull` where it was cloned."
    if "straddling" in reason:
        return (
            f"(a row has over {LARGEST_ROW >> 20} MB, or a quotation mark is not closed): close it, or save "
            "the file as parquet."
        )
    if path.suffix.lower() == ".csv":
        return f"({reason}): save it in UTF-8, with commas and a header, and numbers from 0 as labels."
    return f"({reason}): fetch it again."


def _parquet(schema: Schema, path: Path) -> Any:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        _require_columns(schema, str(path), file.schema_arrow.names)
        return file.read(columns=[*schema.columns, schema.label])


def _csv(schema: Schema, path: Path) -> Any:
    """Reads inputs as strings, so that no shard's texts become numbers."""
    import pyarrow as pa
    from pyarrow import csv

    read, parse = csv.ReadOptions(block_size=LARGEST_ROW), csv.ParseOptions(newlines_in_values=True)
    with csv.open_csv(path, read, parse) as file:
        _require_columns(schema, str(path), file.schema.names)
    convert = csv.ConvertOptions(
        include_columns=[*schema.columns, schema.label],
        column_types=dict.fromkeys(schema.columns, pa.string()),
    )
    return csv.read_csv(path, read, parse, convert)


def _require_alike(paths: Sequence[Path], tables: Sequence[Any]) -> None:
    """Checks that each column has compatible types.  Raises LearningError naming two files that differ."""
    import pyarrow as pa

    first: dict[str, tuple[Path, Any]] = {}
    for path, table in zip(paths, tables, strict=True):
        for field in table.schema:
            before, known = first.setdefault(field.name, (path, field))
            if pa.types.is_null(known.type):
                first[field.name] = (path, field)
            elif not _have_one_type(known, field):
                raise LearningError(
                    f"{before} has column {field.name!r} as {known.type}, {path} as {field.type}: "
                    "save it as one type in all files of the folder."
                )


def _have_one_type(one: Any, other: Any) -> bool:
    import pyarrow as pa

    try:
        joined = pa.unify_schemas([pa.schema([one]), pa.schema([other])], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return False
    texts = pa.types.is_large_string(one.type) or pa.types.is_large_string(other.type)
    return not (texts and pa.types.is_large_binary(joined.field(0).type))  # Arrow converts texts to bytes
