# SPDX-License-Identifier: Apache-2.0
"""Erasure of replaced versions: finds them and destroys their data keys.

Guarantees and limits: docs/explanation/erasure.md.
A version is replaced once the archive records it as superseded and the live chain points to another one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from blockful_py.keys.auditor_keys import AuditorKeys
from blockful_py.keys.sealing import CommitteeKeyring, Destruction
from blockful_py.ledger.protocols import Store
from blockful_py.record.archive_reader import ArchiveReader
from blockful_py.record.catalogue import Catalogue, CatalogueReader
from blockful_py.record.model_node import MAX_NODE_BYTES, parse_node
from blockful_py.storage.interface import FileStore
from blockful_py.types import ArchiveReason, Position, Uri


@dataclass(frozen=True, slots=True)
class ReplacedVersion:
    """A version that is no longer current.

    Attributes:
        weights: URI of its sealed file.
        increments: URIs of the sealed increments, or of the disclosure, stored with it.
        since: time of the archive's record of its replacement, in seconds.
    """

    name: str
    position: Position
    version: int
    weights: Uri
    since: int
    increments: tuple[Uri, ...] = ()

    @property
    def sealed(self) -> tuple[Uri, ...]:
        """All sealed files of the version."""
        return (self.weights, *self.increments)


@dataclass(frozen=True, slots=True)
class Erasure:
    """The outcome of an erasure: the versions, and the members' answers.

    Attributes:
        left: sealed files of these versions that the live store still has.
        auditors: accounts that have keys of some of them.
        retention_days: how long auditors keep these keys; None for ever.
    """

    versions: tuple[ReplacedVersion, ...]
    destruction: Destruction
    left: tuple[Uri, ...] = ()
    auditors: tuple[bytes, ...] = ()
    retention_days: float | None = None

    def account(self) -> str:
        """A plain-language description of the outcome."""
        if not self.versions:
            return "No version was replaced, so no key was destroyed."
        done, silent = self.destruction.destroyed, self.destruction.silent
        text = (
            f"The data keys of {len(self.versions)} replaced version(s){self._increments()} were destroyed "
            f"at {len(done)} member(s) of the committee, and their blocks deleted from this run's live "
            "store. Copies of those blocks elsewhere may exist, and are unreadable without the keys."
        )
        if self.left:
            text += f" The live store still has {len(self.left)} of the sealed files: delete them by hand."
        if silent:
            listed = ", ".join("0x" + address.hex() for address in silent)
            text += f" Not done yet at {listed}: not reached; they destroy the keys when they are back."
        return f"{text} {self._archive()}"

    def _archive(self) -> str:
        if not self.auditors:
            return "No auditor has a key of them, so nobody can read the archive's copies."
        kept = "without end" if self.retention_days is None else f"for {self.retention_days:g} days"
        return f"{len(self.auditors)} auditor(s) can read copies in the archive, {kept}."

    def _increments(self) -> str:
        count = sum(len(version.increments) for version in self.versions)
        return f" and of {count} file(s) stored with them" if count else ""


class ReplacedVersions:
    """Finds replaced versions."""

    def __init__(self, catalogue: CatalogueReader, archive: ArchiveReader, archive_store: Store) -> None:
        self._catalogue = catalogue
        self._archive = archive
        self._store = archive_store

    def current(self) -> frozenset[Uri]:
        """Sealed files of the current versions of all models."""
        return _sealed(self._catalogue.read())

    def of(self, names: Collection[str]) -> tuple[ReplacedVersion, ...]:
        """Replaced versions of the named models, oldest first.

        Raises StorageError if the archive's store lacks one of their nodes.
        """
        catalogue = self._catalogue.read()
        places = {catalogue[name].position: catalogue[name] for name in names}
        current = _sealed(catalogue)
        replaced = []
        for stored in self._archive.read():
            record = stored.record
            placed = places.get(record.position)
            if placed is None or record.reason is not ArchiveReason.SUPERSEDED:
                continue
            sealed = parse_node(self._store.read(record.uri, MAX_NODE_BYTES)).sealed
            if not sealed:  # a withdrawn model
                continue
            weights, *increments = sealed
            if record.version < placed.version and weights not in current:
                place = (placed.node.name, record.position, record.version)
                left = tuple(uri for uri in increments if uri not in current)
                replaced.append(ReplacedVersion(*place, weights, stored.timestamp, left))
        return tuple(replaced)

    def all(self) -> tuple[ReplacedVersion, ...]:
        """Replaced versions of every model."""
        return self.of(tuple(self._catalogue.read().models))

    def require_another_look(self, versions: Collection[ReplacedVersion]) -> None:
        """Reads both chains again, through other nodes if configured, before keys are destroyed.

        Raises NodeError unless both readings agree.
        """
        newest: dict[Position, int] = {}
        for each in versions:
            newest[each.position] = max(each.version, newest.get(each.position, 0))
        if newest:
            self._archive.require_another_look()
            self._catalogue.require_another_look(newest)


def _sealed(catalogue: Catalogue) -> frozenset[Uri]:
    """Sealed files of a catalogue's models."""
    return frozenset(uri for placed in catalogue.models.values() for uri in placed.node.sealed)


def expire(replaced: ReplacedVersions, auditors: AuditorKeys, before: int) -> tuple[ReplacedVersion, ...]:
    """Destroys the auditors' keys of versions replaced before a time (seconds); returns these versions.

    Afterwards nobody can read them.  Raises NodeError if a second reading of the chains does not agree.
    """
    old = [version for version in replaced.all() if version.since < before]
    replaced.require_another_look(old)
    gone = set(auditors.destroy_all([version.weights for version in old]))
    return tuple(version for version in old if version.weights in gone)


def erase(
    replaced: ReplacedVersions,
    current: Mapping[str, int],
    keyring: CommitteeKeyring,
    auditors: AuditorKeys,
    store: FileStore,
    retention_days: float | None = None,
) -> Erasure:
    """Has every member destroy the keys of all replaced versions; the outcome covers the last replacements.

    First the keys of weights are wrapped for the current auditors; auditors never get keys of increments.
    After a crash, a second call completes the erasure.  `current` holds the replacing versions, by model.
    `store` is the live store, which has deleted the blocks.  Raises NodeError, before anything is destroyed,
    if a second reading of the chains does not agree.
    """
    every = replaced.of(current)
    versions = tuple(each for each in every if each.version == current[each.name] - 1)
    if not versions:
        return Erasure((), Destruction())
    replaced.require_another_look(every)
    _hand_over([version.weights for version in every], keyring, auditors)
    sealed = [uri for version in versions for uri in version.sealed]
    return Erasure(
        versions,
        keyring.destroy([uri for version in every for uri in version.sealed]),
        tuple(uri for uri in sealed if store.has(uri)),
        tuple(sorted({account for uri in sealed for account in auditors.holders(uri)})),
        retention_days,
    )


def _hand_over(weights: Collection[Uri], keyring: CommitteeKeyring, auditors: AuditorKeys) -> None:
    """Wraps the keys that members still have for the current auditors."""
    if not auditors.auditors():
        auditors.destroy_all(weights)
        return
    auditors.wrap(keyring.find(weights).keys)
