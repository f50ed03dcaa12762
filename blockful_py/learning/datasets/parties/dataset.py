# SPDX-License-Identifier: Apache-2.0
"""Data sets of parties' own files: of all parties in a laboratory, of one among machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from blockful_py.errors import LearningError, SettingsError
from blockful_py.extras import needed_by
from blockful_py.learning.data import Dataset, pooled
from blockful_py.learning.datasets.options import carve_proxy
from blockful_py.learning.datasets.parties.public_part import (
    AboutParty,
    about_public,
    drawn_public,
    kept_rows,
)
from blockful_py.learning.datasets.parties.rows import TABLES, PartyRows, label_column, party_name, read_rows
from blockful_py.learning.datasets.parties.rule import SampleRule
from blockful_py.learning.streams import generator
from blockful_py.settings import DataOptions

NAME = "parties"


@dataclass(frozen=True, slots=True)
class _PartyParts:
    about: AboutParty
    public: PartyRows
    kept: PartyRows


def load_parties(seed: int, options: DataOptions) -> Dataset:
    """The samples of all files in the folder `options.data_files`, a party each, ascending by name.

    Public rows, drawn by seed, are test and proxy samples, the others train samples.  A founder's folder has
    files of public rows alone: there they are the train samples, too, which no federation hands out.

    Raises SettingsError and LearningError as `read_rows` and `SampleRule`; SettingsError without files.
    """
    paths = party_files(options)
    if options.data_limit is not None:
        raise SettingsError(f"data set {NAME!r} takes all rows: leave learning.data_limit out.")
    parties = [_parts(path, options.label, seed) for path in paths]
    label = parties[0].about.label
    for path, party in zip(paths, parties, strict=True):
        if party.about.label != label:
            raise SettingsError(
                f"{paths[0]} has its labels in column {label!r}, {path} in {party.about.label!r}: name one "
                "column for all parties."
            )
    classes = {name for party in parties for name in party.about.classes}
    rule = SampleRule.fitted(label, sorted(classes), [party.public for party in parties])
    trains = [rule.samples(party.kept) for party in parties]
    split = [
        carve_proxy(rule.samples(party.public), generator(seed, NAME, "proxy", party.about.name))
        for party in parties
    ]
    tests, proxies = zip(*split, strict=True)
    return Dataset(
        NAME,
        len(rule.classes),
        pooled(trains),
        pooled(tests),
        pooled(proxies),
        rule=rule.to_json(),
        holdings=tuple((len(train), len(test)) for train, test in zip(trains, tests, strict=True)),
    )


def own_samples(
    path: Path, rule: SampleRule, public: Path, stream: torch.Generator
) -> tuple[Dataset, list[str]]:
    """A party's own file as samples, and what to say of them.  Its public rows are test samples, all others
    train samples.

    `public`: the file of its public rows; where there is none, as many are drawn, and nobody gets them.
    Raises as `read_rows`, `kept_rows` and `SampleRule.samples`.
    """
    rows = read_rows(path)
    if rule.label not in rows.columns:
        raise LearningError(f"{path} has no column {rule.label!r}, where this federation has its labels.")
    test, train = kept_rows(rows, public) if public.exists() else drawn_public(rows, rule.label, stream)
    samples = rule.samples(rows)
    none = samples.at(torch.zeros(0, dtype=torch.int64))
    said = [
        f"{len(train):,} rows of {path} are samples to train on, {len(test):,} to test on",
        f"classes: {rule.said}",
        *(
            f"{count:,} rows have a text in column {name!r} that no public row has: it counts as none"
            for name, count in rule.unseen(rows).items()
        ),
    ]
    return Dataset(
        NAME,
        len(rule.classes),
        samples.at(torch.tensor(train)),
        samples.at(torch.tensor(test)),
        none,
        rule=rule.to_json(),
    ), said


def own_words(options: DataOptions) -> Sequence[AboutParty]:
    """What each party says of itself; of a file that is no public part, its name alone."""
    paths = party_files(options)
    return [about_public(path) or AboutParty(party_name(path), "", ()) for path in paths]


def party_files(options: DataOptions) -> list[Path]:
    """The tables and folders in `options.data_files`, ascending.  Raises SettingsError without any."""
    with needed_by(f"data set {NAME!r}"):
        import pyarrow  # noqa: F401
    folder = Path(options.data_files or "")
    found = [
        path
        for path in sorted(folder.iterdir() if options.data_files and folder.is_dir() else ())
        if not path.name.startswith(".") and (path.is_dir() or path.suffix.lower() in TABLES)
    ]
    if not found:
        raise SettingsError(
            f"data set {NAME!r} reads a folder with a file of each party (CSV, parquet, or a folder of "
            f"images): set learning.data_files to it; {options.data_files!r} has none."
        )
    return found


def _parts(path: Path, asked: str | None, seed: int) -> _PartyParts:
    rows = read_rows(path)
    if about := about_public(path):
        return _PartyParts(about, rows, rows)
    label = label_column(rows, asked)
    public, kept = drawn_public(rows, label, generator(seed, NAME, path.name))
    return _PartyParts(AboutParty.of(path, rows, label), rows.at(public), rows.at(kept))
