# SPDX-License-Identifier: Apache-2.0
"""What the tables of a data set hold."""

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
        columns: columns of the inputs (text columns are joined), as the hub has them.
        label: column of the labels, integers from 0.
        class_count: number of classes.
        test: split that serves as test data; "train" is the other.
        idx: its idx files, where there are any.
    """

    name: str
    hub: str
    columns: tuple[str, ...]
    label: str
    class_count: int
    test: str = "test"
    idx: IdxFiles | None = None

    def folder(self, options: DataOptions) -> Path | None:
        """The folder that is read: that of the options, else where a package of the system has its files;
        None for the hub."""
        if options.data_files is not None:
            return Path(options.data_files) if Path(options.data_files).is_dir() else None
        if self.idx is not None and self.idx.are_in(self.idx.installed):
            return self.idx.installed
        return None
