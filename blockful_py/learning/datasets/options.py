# SPDX-License-Identifier: Apache-2.0
"""Steps that loaders of data sets share."""

from __future__ import annotations

import torch

from blockful_py.errors import SettingsError
from blockful_py.learning.data import Samples
from blockful_py.settings import DataOptions

PROXY_PER_CLASS = 10
"""Labelled samples of each class that no user holds (the audit protocol); at most a quarter of the class."""


def refuse_files(name: str, options: DataOptions) -> None:
    """Raise SettingsError where files are given for a data set that needs none."""
    if options.data_files is not None:
        raise SettingsError(f"data set {name!r} comes with the package: leave learning.data_files out.")


def drawn(samples: Samples, limit: int | None, stream: torch.Generator) -> Samples:
    """At most `limit` of n samples, drawn without replacement, in their order: (min(n, limit), ...)."""
    if limit is None or len(samples) <= limit:
        return samples
    return parted(samples, limit, stream)[0]


def parted(samples: Samples, count: int, stream: torch.Generator) -> tuple[Samples, Samples]:
    """(drawn, others) of n samples, each in their order: min(n, count) drawn without replacement."""
    order = torch.randperm(len(samples), generator=stream)
    drawn_rows, others = (torch.sort(rows).values for rows in (order[:count], order[count:]))
    return samples.at(drawn_rows), samples.at(others)


def carve_proxy(samples: Samples, stream: torch.Generator) -> tuple[Samples, Samples]:
    """(other samples, proxy): the proxy has PROXY_PER_CLASS of each class, at most a quarter of them."""
    chosen = torch.zeros(len(samples), dtype=torch.bool)
    for label in samples.classes():
        rows = torch.nonzero(samples.y == label).flatten()
        count = min(PROXY_PER_CLASS, len(rows) // 4)
        chosen[rows[torch.randperm(len(rows), generator=stream)[:count]]] = True
    return samples.at(~chosen), samples.at(chosen)
