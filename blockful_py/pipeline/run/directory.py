# SPDX-License-Identifier: Apache-2.0
"""A run directory: all files that a federation keeps outside the chains.

run.json            settings, endpoints of the chains, and folders of modules that the settings name
run.lock            held by the process that makes the run or leads a job; names that process
deployments/        addresses of the contracts, one file per chain
live/ archive/      the two stores
arrivals/           blocks sent by other machines, of files that are not kept yet
vaults/             data keys of the appointed members, one folder per member
curves.jsonl        learning curves, one line per model
figures.json        figures before a request, until its report is written
certificates/       erasure certificates, each a document and a page
auditors/           data keys wrapped to the archive's auditors, one file per version
motions/            open motions to the committee, one file each (usually absent)
events/             past events of the chains, in case nodes prune them, one file per contract; and
                    transactions of the live chain, from which later processes continue reading
keys/               public halves of the generated group keys, one file each
journal.sqlite      jobs and their steps, each written before it is taken
tasks/              files of the open job's tasks, shared with workers; deleted when the job ends
chains/             databases of our own devnets
"""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from blockful_py.bounded_json import parse_json
from blockful_py.engine.journal import Journal
from blockful_py.errors import RunError
from blockful_py.learning.plugins import folders
from blockful_py.pipeline.run.finding import no_run
from blockful_py.pipeline.run.nodes import ChainEndpoints
from blockful_py.settings import Settings
from blockful_py.settings.code import code_of
from blockful_py.whole_file import write_whole

FORMAT = "blockful-run/1"
CERTIFICATES = "certificates"
PARTS = (
    "run.json",
    "deployments",
    "live",
    "archive",
    "arrivals",
    "vaults",
    "curves.jsonl",
    "figures.json",
    CERTIFICATES,
    "events",
    "auditors",
    "motions",
    "keys",
    "journal.sqlite",
    "tasks",
    "chains",
)
"""Entries of the folder that only a run has, besides its lock."""


@dataclass(frozen=True, slots=True)
class Party:
    """A party's entry in its run directory; a laboratory's run has none.

    Attributes:
        federation: digest of the federation file, 32 bytes in hexadecimal.
        measuring, initial: CIDs of the public files (`record.federation_file`).
        user: the participant's number; None for a member.
        data: the participant's data: a file of samples, or the name of a data set.
        discloses: share of a retraining's steps whose samples the participant shows to members.
        auditors: accounts, of which one, drawn by lot, may replay its retrainings with its samples.
    """

    federation: str
    measuring: str
    initial: str
    user: int | None = None
    data: str | None = None
    discloses: float = 0.0
    auditors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunEntry:
    """An attribute of a run directory: the path of the entry with this name."""

    name: str

    def __get__(self, run: RunDirectory, owner: type) -> Path:
        return run.path / self.name


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """Paths of a run, its settings and its chains.

    Attributes:
        identity: random, to tell apart the journals of different runs.
        party: the run's party in a federation of machines; None in a laboratory.
    """

    path: Path
    settings: Settings
    place: ChainEndpoints
    identity: str = ""
    party: Party | None = None

    deployments = RunEntry("deployments")
    live_store = RunEntry("live")
    archive_store = RunEntry("archive")
    arrivals = RunEntry("arrivals")
    curves = RunEntry("curves.jsonl")
    certificates = RunEntry(CERTIFICATES)
    vaults = RunEntry("vaults")
    auditors = RunEntry("auditors")
    motions = RunEntry("motions")
    group_keys = RunEntry("keys")
    journal = RunEntry("journal.sqlite")
    tasks = RunEntry("tasks")
    recipients = RunEntry("recipients.json")

    @property
    def allowed_code(self) -> frozenset[str]:
        """Import paths of the code that the run's owner lets others name.

        Among machines, the other sections of the settings come from others, so only `run.allow` counts.
        """
        own = self.settings.run if self.party is not None else code_of(self.settings)
        return frozenset(own.allow)

    @classmethod
    def create(
        cls, path: Path, settings: Settings, place: ChainEndpoints | None = None, party: Party | None = None
    ) -> RunDirectory:
        """Writes the run.json of a claimed folder (`creation`).  Raises RunError if it cannot be written."""
        place = place or ChainEndpoints.of(settings.chain, path / "chains")
        run = cls(path, settings, place, secrets.token_hex(16), party)
        run._write()
        return run

    def renewed(self, settings: Settings, party: Party) -> RunDirectory:
        """The run under a new federation file; rewrites run.json if that changes it."""
        run = replace(self, settings=settings, party=party)
        if run != self:
            run._write()
        return run

    def allowing(self, names: Iterable[str]) -> RunDirectory:
        """The run with this code allowed and no other; written to run.json."""
        own = replace(self.settings.run, allow=tuple(dict.fromkeys(names)))
        run = replace(self, settings=replace(self.settings, run=own))
        run._write()
        return run

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """Opens a run, and makes the modules that its settings name importable in this process.

        Raises RunError when it is missing or of another format.
        """
        document = _read(path / "run.json")
        if document.get("format") != FORMAT:
            raise RunError(f"{path}/run.json is not of format {FORMAT}: train again with this version.")
        sys.path += [str(folder) for folder in document.get("modules", ()) if folder not in sys.path]
        place = ChainEndpoints.from_json(document.get("chains", {}), path)
        settings = Settings.parse(document.get("settings", {}))
        try:
            party = _party(document["party"]) if "party" in document else None
        except TypeError as error:
            raise RunError(f"{path}/run.json does not say whose run it is ({error}): join again.") from None
        return cls(path, settings, place, str(document.get("identity", "")), party)

    def _write(self) -> None:
        document = {
            "format": FORMAT,
            "identity": self.identity,
            "settings": self.settings.to_json(),
            "chains": self.place.to_json(self.path),
            "modules": [str(folder) for folder in folders(self._names())],
        }
        if self.party is not None:
            document["party"] = asdict(self.party)
        text = json.dumps(document, indent=2) + "\n"
        write_whole(self.path / "run.json", text, parents=True, advice="choose another folder")

    def _names(self) -> tuple[str, ...]:
        """Names in the settings that may be import paths."""
        data = () if self.party is None or self.party.data is None else (self.party.data,)
        return (*data, *self.allowed_code, *self.settings.run.callbacks)

    def opened_journal(self) -> Journal:
        """The jobs of the run."""
        return Journal(self.journal, self.identity)


def _party(entries: dict[str, Any]) -> Party:
    return Party(**{**entries, "auditors": tuple(entries.get("auditors", ()))})


def _read(path: Path) -> dict[str, Any]:
    try:
        document = parse_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise no_run(path.parent) from None
    except (OSError, ValueError) as error:
        raise RunError(f"{path} cannot be read ({error}); it was left as it is.") from None
    if not isinstance(document, dict):
        raise RunError(f"{path} is not a run description; it was left as it is.")
    return document
