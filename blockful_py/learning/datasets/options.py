# SPDX-License-Identifier: Apache-2.0
"""What a loader of a data set may be told, and how it divides what it found."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from blockful_py.errors import SettingsError
from blockful_py.learning.data import Samples

PROXY_PER_CLASS = 10
"""Labelled samples of each class that no user holds (the audit protocol); at most a quarter of the class."""

WORDS = "words"


@dataclass(frozen=True, slots=True)
class DataOptions:
    """Where a data set is and how much of it to take.

    Attributes:
        files: folder with the parquet or CSV files of the data set, named after their splits, or a hub id
            in the place of the usual one; None: the usual hub id.
        limit: at most so many samples of each split, drawn by seed.
        text_length: tokens of a text; longer ones are cut, shorter ones filled with id 0.
        tokenizer: "words", or the hub id or folder of a tokenizer of `transformers`.

    Raises SettingsError for a number below 1.
    """

    files: str | None = None
    limit: int | None = None
    text_length: int = 64
    tokenizer: str = WORDS

    def __post_init__(self) -> None:
        if self.text_length < 1 or (self.limit is not None and self.limit < 1):
            raise SettingsError(
                f"data_limit and text_length must be at least 1, not {self.limit} and {self.text_length}."
            )


def refuse_files(name: str, options: DataOptions) -> None:
    """Raise SettingsError where files are given for a data set that needs none."""
    if options.files is not None:
        raise SettingsError(f"data set {name!r} comes with the package: leave learning.data_files out.")


def drawn(samples: Samples, limit: int | None, stream: torch.Generator) -> Samples:
    """At most `limit` samples, in the order they have."""
    if limit is None or len(samples) <= limit:
        return samples
    return samples.at(torch.sort(torch.randperm(len(samples), generator=stream)[:limit]).values)


def carve_proxy(samples: Samples, stream: torch.Generator) -> tuple[Samples, Samples]:
    """(the rest, the proxy): of each class up to PROXY_PER_CLASS samples, drawn by `stream`."""
    chosen = torch.zeros(len(samples), dtype=torch.bool)
    for label in samples.classes():
        rows = torch.nonzero(samples.y == label).flatten()
        count = min(PROXY_PER_CLASS, len(rows) // 4)
        chosen[rows[torch.randperm(len(rows), generator=stream)[:count]]] = True
    return samples.at(~chosen), samples.at(chosen)
