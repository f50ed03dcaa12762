# SPDX-License-Identifier: Apache-2.0
"""Splits of a data set as Arrow tables, read from parquet, CSV or idx files or from the Hugging Face hub."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from blockful_py.errors import LearningError, SettingsError
from blockful_py.extras import needed_by
from blockful_py.learning.datasets.idx import IMAGES, LABELS, PREFIXES, read_table
from blockful_py.learning.datasets.shards import Schema, needed_columns, read_shards, shards_in
from blockful_py.learning.streams import generator
from blockful_py.settings import DataOptions

HUB_ID = re.compile(r"[\w-][\w.-]*/[\w.-]+")


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """One split of a data set.

    Attributes:
        source: its origin, for error messages.
        table: Arrow table of n rows.
        labels: int64 (n,), on the CPU.
    """

    source: str
    table: Any
    labels: torch.Tensor


def read_splits(schema: Schema, options: DataOptions, seed: int) -> tuple[Split, Split]:
    """The train and the test split, each with at most `options.data_limit` rows.

    Raises:
        SettingsError: an extra or the files are missing, or the hub cannot be reached.
        LearningError: a file is damaged or of another schema, or a label is out of range.
    """
    with needed_by(f"data set {schema.name!r}"):
        import pyarrow  # noqa: F401
    place = options.data_files
    if place is not None and not HUB_ID.fullmatch(place) and not Path(place).is_dir():
        raise SettingsError(
            f"learning.data_files: there is no folder {place!r}: give one with the "
            f"files of {schema.hub} (parquet, CSV{', idx' if schema.idx else ''}), or a hub id."
        )
    folder = schema.folder(options)
    splits = from_hub(schema, place or schema.hub) if folder is None else _from_folder(schema, folder)
    train, test = (
        _split(schema, splits[which], options.data_limit, seed) for which in ("train", schema.test)
    )
    return train, test


def _split(schema: Schema, sourced: tuple[str, Any], limit: int | None, seed: int) -> Split:
    source, table = sourced
    if limit is not None and table.num_rows > limit:
        rows = torch.randperm(table.num_rows, generator=generator(seed, "limit", source.rpartition(" ")[2]))
        table = table.take(torch.sort(rows[:limit]).values.numpy())
    return Split(source, table, _labels(schema, source, table))


def _labels(schema: Schema, source: str, table: Any) -> torch.Tensor:
    """The labels as int64 (n,), with whole floats converted.

    Raises LearningError unless each row has a label in range.
    """
    import pyarrow as pa

    column = table[schema.label]
    numeric = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    try:
        if not numeric or column.null_count:
            raise pa.ArrowInvalid
        labels = torch.from_numpy(column.cast(pa.int64()).to_numpy().copy())
    except pa.ArrowInvalid:
        raise LearningError(
            f"{source}: column {schema.label!r} must hold an integer in every row, not {column.type} "
            f"with {column.null_count} empty: give the labels as numbers from 0."
        ) from None
    if len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) < schema.class_count:
        raise LearningError(
            f"{source} has labels from {int(labels.min())} to {int(labels.max())}; those of {schema.name!r} "
            f"are from 0 to {schema.class_count - 1}: correct the file, or name its own data set."
        )
    return labels


def _from_folder(schema: Schema, folder: Path) -> Mapping[str, tuple[str, Any]]:
    found, splits = shards_in(folder, ("train", schema.test)), {}
    for split, paths in found.items():
        pair = schema.idx.pair_in(folder, split) if schema.idx is not None else None
        if paths:
            source = str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
            splits[split] = (source, read_shards(schema, paths))
        elif schema.idx is not None and pair is not None:
            table = read_table(schema.idx, pair, schema.columns[0], schema.label)
            splits[split] = (str(pair[0]), table)
        else:
            raise SettingsError(
                f"learning.data_files: {folder} has no file {split}*.parquet or {split}*.csv, nor any in a "
                f"folder {split}*{_or_idx(schema, split)}, at any depth: put the files of {schema.hub} there."
            )
    return splits


def _or_idx(schema: Schema, split: str) -> str:
    return "" if schema.idx is None else f", and not both of {PREFIXES[split]}-{IMAGES} and -{LABELS}"


def from_hub(schema: Schema, source: str) -> Mapping[str, tuple[str, Any]]:
    """Downloads (origin, Arrow table) by split through `datasets`; raises SettingsError if that fails."""
    with needed_by(f"data set {schema.name!r}"):
        import datasets

    try:
        loaded = {split: datasets.load_dataset(source, split=split) for split in ("train", schema.test)}
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        raise SettingsError(
            f"data set {schema.name!r} cannot be downloaded from the hub as {source!r} "
            f"({type(error).__name__}: {str(error).splitlines()[0][:200]}): download its parquet files "
            "elsewhere, put them in a folder and set learning.data_files to it."
        ) from None
    tables = ((split, f"{source} {split}", part.with_format("arrow")[:]) for split, part in loaded.items())
    return {split: (origin, needed_columns(schema, origin, table)) for split, origin, table in tables}
