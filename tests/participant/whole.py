# SPDX-License-Identifier: Apache-2.0
"""Invariants of a federation of processes at the end: no losses, and no repeated work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from blockful_py.committee.service.folder import VAULT, keys_in
from blockful_py.committee.vault import Vault
from blockful_py.errors import BlockfulError
from blockful_py.keys.sealing import require_key
from blockful_py.participant.folder import ParticipantFolder
from blockful_py.pipeline.coordination.motions import FileChanges
from blockful_py.record.catalogue import Catalogue
from blockful_py.storage.store import ContentStore
from blockful_py.types import Uri
from tests.federations import promised
from tests.limits import ANY_SIZE
from tests.member.processes import WORDS, MemberProcess
from tests.participant.processes import ProcessFederation


@dataclass(frozen=True)
class Work:
    """The work of a trial.

    Attributes:
        kind: "publication", "parallel" or "sequential".
        models: models that get one version more, or their first.
        passed: models to which a parallel request passes its changes, unless they are negligible.
        before: versions before the work began.
        request: the request's number; 0 for a publication.
    """

    kind: str
    models: tuple[str, ...]
    passed: tuple[str, ...]
    before: Mapping[str, int]
    request: int = 0

    def is_done(self, federation: ProcessFederation) -> bool:
        """Whether the record shows the finished work.  Raises BlockfulError while it cannot be read."""
        with federation.watched() as record:
            versions = _versions(record.catalogue())
            if any(versions.get(name, -1) <= self.before.get(name, -1) for name in self.models):
                return False
            return self.request not in FileChanges(record).open_requests()

    def misdone(self, versions: Mapping[str, int]) -> Iterator[str]:
        """Models whose versions the work does not explain."""
        for name in {**self.before, **versions, **dict.fromkeys(self.models)}:
            was, now = self.before.get(name, -1), versions.get(name, -1)
            if now - was not in ((1,) if name in self.models else (0, 1) if name in self.passed else (0,)):
                yield f"{name} went from version {was} to {now}"


@dataclass
class Ledger:
    """The past of a federation, as its observer recorded it.

    Attributes:
        sealed: the sealed files of each version, by model and version.
        logged: number of lines in each participant's log of its work.
        vaults: the members' vaults, by their folders.
    """

    federation: ProcessFederation
    sealed: dict[tuple[str, int], tuple[Uri, ...]] = field(default_factory=dict)
    logged: dict[str, int] = field(default_factory=dict)
    vaults: dict[Path, Vault] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for member in self.federation.members:
            secret = keys_in(member.folder, WORDS).voting_secret
            self.vaults[member.folder] = Vault(member.folder / VAULT, secret)

    def lacking(self) -> list[str]:
        """Keys and files that members have yet to fetch or to destroy."""
        with self.federation.watched() as record:
            models = record.catalogue().models
        current = {(name, placed.version) for name, placed in models.items()}
        for name, placed in models.items():
            self.sealed[name, placed.version] = placed.node.sealed
        kept = {uri for each in current for uri in self.sealed[each]}
        gone = {uri for uris in self.sealed.values() for uri in uris} - kept
        return [
            f"{member.folder.name} {what}"
            for member in self.federation.members
            for what in self._lacks(member, kept, gone)
        ]

    def _lacks(self, member: MemberProcess, kept: set[Uri], gone: set[Uri]) -> Iterator[str]:
        vault, store = self.vaults[member.folder], ContentStore(member.folder / "run" / "live")
        keys = vault.versions()
        for uri in kept:
            if uri.digest not in keys:
                yield f"has no key of {uri}, which is current"
            elif not store.has(uri):
                yield f"has no file {uri}, which is current"
            else:
                try:
                    require_key(vault.get(uri.digest), store.stream(uri, ANY_SIZE), uri)
                except BlockfulError as error:
                    yield f"has a key and a file {uri} that do not fit: {error}"
        for uri in gone:
            if uri.digest in keys:
                yield f"has the key of {uri}, which was replaced"
            if store.has(uri):
                yield f"has the file {uri}, which was replaced"

    def broken(self, work: Work) -> list[str]:
        """Losses and repeated work, once the work is done."""
        federation, found = self.federation, list[str]()
        with federation.watched() as record:
            versions = _versions(record.catalogue())
            if not record.verify().passed or not record.audit().passed:
                found.append("the record does not verify")
            found += [f"an alarm was raised: {alarm}" for alarm in record.alarms()]
        try:
            promised(federation.contracts)
        except AssertionError as error:
            found.append(f"the chains break a promise: {error}")
        found += work.misdone(versions)
        if (records := federation.contracts.archive.length()) != len(versions) + sum(versions.values()):
            found.append(f"the archive has {records} records of {versions}")
        if work.kind == "parallel":
            parts = federation.contracts.participants.hand_ins(work.request)
            found += [f"{len(parts)} parts were handed in"] if len(parts) != len(work.models) else []
        return found

    def trained(self) -> tuple[int, list[str]]:
        """The amount of work that participants began since the last call, and repetitions in it."""
        begun, twice = 0, list[str]()
        for name, participant in self.federation.participants.items():
            entries = ParticipantFolder(participant.folder).log.entries()
            fresh = entries[self.logged.get(name, 0) :]
            self.logged[name] = len(entries)
            begun += len(fresh)
            done = [(each.models, each.request) for each in fresh if each.seconds and not each.error]
            twice += [
                f"{name} did {each} {done.count(each)} times" for each in {*done} if done.count(each) > 1
            ]
        return begun, twice


def read_by(federation: ProcessFederation, name: str) -> list[str]:
    """Current models that a stopped participant cannot read."""
    reader = federation.participants[name]
    reader.kill()
    try:
        with federation.watched() as record:
            wanted = record.catalogue().models.keys()
        with reader.opened(federation.nodes) as party:
            return [f"{name} cannot read {each}" for each in wanted - party.federation.models().keys()]
    except BlockfulError as error:
        return [f"{name} cannot read the models: {error}"]


def _versions(catalogue: Catalogue) -> dict[str, int]:
    return {name: placed.version for name, placed in catalogue.models.items()}
