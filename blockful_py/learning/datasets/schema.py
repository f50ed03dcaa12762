# SPDX-License-Identifier: Apache-2.0
"""Schemas of data sets' tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

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
