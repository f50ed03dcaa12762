# SPDX-License-Identifier: Apache-2.0
"""Data sets made of parties' own files: all parties in a laboratory, one party on its own machine."""

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
    """Loads all files in the folder `options.data_files`, one per party, ascending by name.

    Public rows, drawn by seed, become test and proxy samples, the other rows train samples.  A founder's
    folder holds only files of public rows; there they are the train samples too, which no federation hands
    out. Raises SettingsError and LearningError as `read_rows` and `SampleRule`; SettingsError without files.
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


@dataclass(frozen=True, slots=True)
class OwnSamples:
    """A party's own file as samples.

    Attributes:
        said: messages about them for the party.
        persons: identifiers of the persons of the train samples and of the test samples, None for a row
            without one; None if no column names persons.
    """

    dataset: Dataset
    said: list[str]
    persons: tuple[Sequence[str | None], Sequence[str | None]] | None = None


def own_samples(
    path: Path, rule: SampleRule, public: Path, stream: torch.Generator, person: str | None = None
) -> OwnSamples:
    """Loads a party's own file as samples; public rows become test samples, all other rows train samples.

    `public` is the file of the party's public rows; if it is missing, as many rows are drawn and kept
    private.  `person`: the column that names persons.  Raises as `read_rows`, `kept_rows` and
    `SampleRule.samples`; LearningError if models of the federation have `person` as an input.
    """
    if person is not None and person in {each.name for each in rule.columns}:
        raise LearningError(
            f"column {person!r} is an input of this federation's models, and is in the public rows: nobody "
            "can take it back. Name persons by another column."
        )
    rows = read_rows(path, person)
    if rule.label not in rows.columns:
        raise LearningError(f"{path} has no column {rule.label!r}, where this federation has its labels.")
    samples = rule.samples(rows)
    test, train = kept_rows(rows, public) if public.exists() else drawn_public(rows, rule.label, stream)
    none = samples.at(torch.zeros(0, dtype=torch.int64))
    said = [
        f"{len(train):,} rows of {path} are samples to train on, {len(test):,} to test on",
        f"classes: {rule.said}",
        *(
            f"{count:,} rows have a text in column {name!r} that no public row has: it counts as no value"
            for name, count in rule.unseen(rows).items()
        ),
    ]
    dataset = Dataset(
        NAME,
        len(rule.classes),
        samples.at(torch.tensor(train)),
        samples.at(torch.tensor(test)),
        none,
        rule=rule.to_json(),
    )
    if (persons := rows.persons) is None:
        return OwnSamples(dataset, said)
    return OwnSamples(dataset, said, ([persons[i] for i in train], [persons[i] for i in test]))


def own_words(options: DataOptions) -> Sequence[AboutParty]:
    """Each party's own description; for a file without public rows, the party's name alone."""
    paths = party_files(options)
    return [about_public(path) or AboutParty(party_name(path), "", ()) for path in paths]


def party_files(options: DataOptions) -> list[Path]:
    """The tables and folders in `options.data_files`, ascending.  Raises SettingsError if it has none."""
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
