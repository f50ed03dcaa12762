# SPDX-License-Identifier: Apache-2.0
"""Audits the archive: the history of every position, and the integrity of the hash chain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from blockful_py.crypto import payload
from blockful_py.crypto.envelope import MAX_SEALED_BYTES
from blockful_py.errors import CryptoError, LearningError, StorageError
from blockful_py.ledger.protocols import require_whole
from blockful_py.record.archive_memory import departures
from blockful_py.record.catalogue import all_transactions
from blockful_py.record.decryption import Decryptor
from blockful_py.record.events import ArchiveEvents, LiveEvents
from blockful_py.record.model_node import MAX_NODE_BYTES, parse_node
from blockful_py.storage.cid import cid_string
from blockful_py.storage.interface import FileStore
from blockful_py.types import Bytes32, ModelTransaction, Position, StoredArchiveRecord, Uri


@dataclass(frozen=True, slots=True)
class Unread:
    """An unreadable file of an archived version: its kind, its CID and the error."""

    part: Literal["node", "weights"]
    cid: str
    reason: str


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """One archived version of one model.

    Attributes:
        unread: the file that is damaged or missing in the archive's store; None if both are readable.
        decrypted: its weights were decrypted with their key.
        defect: why decrypted weights are unusable; None without a defect.
    """

    index: int
    position: Position
    version: int
    reason: str
    name: str | None
    cid: str
    timestamp: int
    decrypted: bool = False
    defect: str | None = None
    unread: Unread | None = None

    @property
    def readable(self) -> bool:
        """Whether its files, with the weights sealed, are in the archive's store."""
        return self.unread is None


@dataclass(frozen=True, slots=True)
class Timeline:
    """The history of one position, oldest record first.

    Attributes:
        name: name of the model, if any of its nodes can be read.
        current: version on the live chain; None if it has no such model.
    """

    position: Position
    name: str | None
    entries: tuple[ArchiveEntry, ...]
    current: int | None


@dataclass(frozen=True, slots=True)
class Audit:
    """The archive's records in order, and the problems found; none in an intact archive.

    `extends`: the records hash to the head and begin with all remembered records.
    """

    entries: tuple[ArchiveEntry, ...]
    head: Bytes32
    problems: tuple[str, ...]
    extends: bool
    timelines: tuple[Timeline, ...]

    @property
    def passed(self) -> bool:
        return not self.problems


def audit_archive(
    archive: ArchiveEvents,
    live: LiveEvents,
    store: FileStore,
    remembered: tuple[StoredArchiveRecord, ...] = (),
    decryptor: Decryptor | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Audit:
    """Walks the hash chain, reads every archived version, and looks for missing versions.

    `remembered`: records that the auditor saw before; the archive must begin with them.  `decryptor`: opens
    the versions whose keys the auditor has.  `progress` is called with the number of records read so far.
    """
    records = tuple(archive.records(0, archive.length()))
    problems = [*_chain_problems(archive, records), *departures(remembered, records)]
    extends = not problems
    entries = tuple(_entries(records, store, decryptor, progress))
    names = {entry.position: entry.name for entry in entries if entry.name}
    problems += [_unread(entry, names.get(entry.position), entry.unread) for entry in entries if entry.unread]
    problems += [f"record {entry.index}: {entry.defect}" for entry in entries if entry.defect]
    current = {each.position: each for each in all_transactions(live)}
    problems += _missing(records, current)
    problems += _contradictions(records, live)
    return Audit(entries, archive.head(), tuple(problems), extends, tuple(_timelines(entries, current)))


def _unread(entry: ArchiveEntry, name: str | None, unread: Unread) -> str:
    model = f"{name} at {entry.position}" if name else f"the model at {entry.position}"
    return (
        f"record {entry.index}: the {unread.part} of version {entry.version} of {model} cannot be read: file "
        f"{unread.cid}: {unread.reason.rstrip('.')}. Put the file back from another store or a backup, "
        "whose copy must have the same CID (`blockful cid`)"
    )


def _chain_problems(archive: ArchiveEvents, records: Sequence[StoredArchiveRecord]) -> Iterator[str]:
    """Problems of records that differ from the contract's log, or do not hash to the head."""
    logged = {each.index: each for each in archive.archived()}
    for stored in records:
        if stored.index in logged and logged[stored.index] != stored:
            yield f"record {stored.index} was altered: it is not what the chain logged when it was archived"
    for index in sorted(logged.keys() - {stored.index for stored in records}):
        yield f"record {index} is missing: the chain logged it when it was archived"
    genesis = payload.archive_genesis_head(archive.chain_id, archive.address)
    if payload.archive_head(genesis, records) != archive.head():
        yield "the records do not hash to the archive's head: a past record was altered"


def _missing(
    records: Sequence[StoredArchiveRecord], current: dict[Position, ModelTransaction]
) -> Iterator[str]:
    archived = {(stored.record.position, stored.record.version) for stored in records}
    for position in sorted({position for position, _ in archived} - current.keys()):
        yield (
            f"the model at {position} is archived and not on the live chain: blocks were lost, or its "
            "publication is unfinished"
        )
    for transaction in current.values():
        for version in range(max(transaction.version, 1)):
            if (transaction.position, version) not in archived:
                yield f"version {version} of {transaction.position} was never archived"


def _contradictions(records: Sequence[StoredArchiveRecord], live: LiveEvents) -> Iterator[str]:
    """Problems of records whose node differs from the live chain's log of the same version."""
    logged: dict[tuple[Position, int], Uri] = {
        (each.position, each.version): each.uri for each in (*live.published(), *live.redactions())
    }
    for stored in records:
        record = stored.record
        uri = logged.get((record.position, record.version), record.uri)
        if uri != record.uri:
            yield (
                f"record {stored.index}: version {record.version} of {record.position} was "
                f"{cid_string(uri)} on the live chain, archived is {cid_string(record.uri)}"
            )


def _timelines(
    entries: Sequence[ArchiveEntry], current: dict[Position, ModelTransaction]
) -> Iterator[Timeline]:
    by_position: dict[Position, list[ArchiveEntry]] = {position: [] for position in current}
    for entry in entries:
        by_position.setdefault(entry.position, []).append(entry)
    for position in sorted(by_position):
        own = by_position[position]
        name = next((entry.name for entry in own if entry.name), None)
        version = current[position].version if position in current else None
        yield Timeline(position, name, tuple(own), version)


def _entries(
    records: Sequence[StoredArchiveRecord],
    store: FileStore,
    decryptor: Decryptor | None,
    progress: Callable[[int], None],
) -> Iterator[ArchiveEntry]:
    for done, stored in enumerate(records, start=1):
        yield _entry(stored, store, decryptor)
        progress(done)


def _entry(stored: StoredArchiveRecord, store: FileStore, decryptor: Decryptor | None) -> ArchiveEntry:
    record = stored.record
    name: str | None = None
    decrypted, defect = False, None
    unread, node = None, None
    weights: Uri | None = None
    try:
        node = parse_node(store.read(record.uri, MAX_NODE_BYTES))
        name = node.name
        if not node.is_withdrawn:
            weights = node.weights
            require_whole(store, weights, MAX_SEALED_BYTES)
    except StorageError as error:
        part: Literal["node", "weights"] = "node" if node is None else "weights"
        unread = Unread(part, cid_string(weights or record.uri), str(error))
    else:
        try:
            decrypted = (
                decryptor is not None
                and weights is not None
                and decryptor.decrypts(record.position, record.version, weights)
            )
        except (StorageError, LearningError, CryptoError) as error:
            defect = str(error)
    return ArchiveEntry(
        stored.index,
        record.position,
        record.version,
        record.reason.name.lower(),
        name,
        cid_string(record.uri),
        stored.timestamp,
        decrypted,
        defect,
        unread,
    )
