# SPDX-License-Identifier: Apache-2.0
"""What an auditor sees: the history of every position, and whether the archive is whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from blockful_py.chain.archive_registry import ArchiveRegistryContract
from blockful_py.chain.live_chain import LiveChainContract
from blockful_py.crypto import payload
from blockful_py.errors import StorageError
from blockful_py.pipeline.catalogue import all_transactions
from blockful_py.pipeline.model_node import parse_node
from blockful_py.storage.cid import cid_string
from blockful_py.storage.store import ContentStore
from blockful_py.types import Position, StoredArchiveRecord


@dataclass(frozen=True, slots=True)
class Entry:
    """One archived version of one model; `readable` when its bytes are in the archive's store."""

    index: int
    position: Position
    version: int
    reason: str
    name: str | None
    cid: str
    timestamp: int
    readable: bool


@dataclass(frozen=True, slots=True)
class Audit:
    """The archive's records in order, and what is wrong with them (nothing, when it is whole)."""

    entries: tuple[Entry, ...]
    head: bytes
    problems: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not self.problems


def audit_archive(
    archive: ArchiveRegistryContract,
    live: LiveChainContract,
    store: ContentStore,
    remembered: tuple[int, bytes] | None = None,
) -> Audit:
    """Walks the hash chain, reads every archived version, and looks for versions that are missing.

    `remembered`: number of records and head that the auditor saw before; the archive must extend it.
    """
    records = archive.records(0, archive.length())
    problems = list(_chain_problems(archive, records, remembered))
    entries = tuple(_entry(stored, store) for stored in records)
    problems += [
        f"record {entry.index}: version {entry.version} of {entry.position} cannot be read"
        for entry in entries
        if not entry.readable
    ]
    archived = {(entry.position, entry.version) for entry in entries}
    standing = all_transactions(live)
    for position in sorted({entry.position for entry in entries} - {each.position for each in standing}):
        problems.append(
            f"the model at {position} is archived and not on the live chain: blocks were lost, or its "
            "publication is unfinished"
        )
    for transaction in standing:
        for version in range(transaction.version + 1):
            replaced = version < transaction.version or version == 0
            if replaced and (transaction.position, version) not in archived:
                problems.append(f"version {version} of {transaction.position} was never archived")
    return Audit(entries, archive.head(), tuple(problems))


def _chain_problems(
    archive: ArchiveRegistryContract,
    records: Sequence[StoredArchiveRecord],
    remembered: tuple[int, bytes] | None,
) -> list[str]:
    head = payload.archive_genesis_head(archive.chain_id, archive.address)
    heads = [head]
    for stored in records:
        head = payload.archive_head_step(head, stored.index, stored.record, stored.timestamp)
        heads.append(head)
    problems = []
    if head != archive.head():
        problems.append("the records do not hash to the archive's head: a past record was altered")
    if remembered is not None:
        count, known = remembered
        if count >= len(heads) or heads[count] != known:
            problems.append(f"the first {count} records are not those that were remembered")
    return problems


def _entry(stored: StoredArchiveRecord, store: ContentStore) -> Entry:
    record = stored.record
    name: str | None = None
    try:
        node = parse_node(store.read(record.uri))
        name = node.name
        store.read(node.weights)
        readable = True
    except StorageError:
        readable = False
    return Entry(
        stored.index,
        record.position,
        record.version,
        record.reason.name.lower(),
        name,
        cid_string(record.uri),
        stored.timestamp,
        readable,
    )
