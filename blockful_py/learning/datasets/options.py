# SPDX-License-Identifier: Apache-2.0
"""Helper functions shared by the loaders of data sets."""

from __future__ import annotations

import torch

from blockful_py.errors import SettingsError
from blockful_py.learning.data import Samples
from blockful_py.settings import DataOptions

PROXY_PER_CLASS = 10
"""Proxy samples per class, held by no user (the audit protocol); at most a quarter of the class."""


def refuse_files(name: str, options: DataOptions) -> None:
    """Rejects data files for a data set that needs none.  Raises SettingsError."""
    if options.data_files is not None:
        raise SettingsError(f"data set {name!r} comes with the package: leave learning.data_files out.")


def drawn(samples: Samples, limit: int | None, stream: torch.Generator) -> Samples:
    """Draws at most `limit` of n samples without replacement, in their order: (min(n, limit), ...)."""
    if limit is None or len(samples) <= limit:
        return samples
    return parted(samples, limit, stream)[0]


def parted(samples: Samples, count: int, stream: torch.Generator) -> tuple[Samples, Samples]:
    """Draws min(n, count) of n samples without replacement; returns (drawn, others), each in order."""
    order = torch.randperm(len(samples), generator=stream)
    drawn_rows, others = (torch.sort(rows).values for rows in (order[:count], order[count:]))
    return samples.at(drawn_rows), samples.at(others)


def carve_proxy(samples: Samples, stream: torch.Generator) -> tuple[Samples, Samples]:
    """Splits off the proxy, PROXY_PER_CLASS of each class but at most a quarter; returns (others, proxy)."""
    chosen = torch.zeros(len(samples), dtype=torch.bool)
    for label in samples.classes():
        rows = torch.nonzero(samples.y == label).flatten()
        count = min(PROXY_PER_CLASS, len(rows) // 4)
        chosen[rows[torch.randperm(len(rows), generator=stream)[:count]]] = True
    return samples.at(~chosen), samples.at(chosen)
