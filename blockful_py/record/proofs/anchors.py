# SPDX-License-Identifier: Apache-2.0
"""Trust anchors, which a verifier obtains independently of the document.

Anybody can make a chain of blocks with their own hashes and keys.  A document is a proof only to a verifier
who knows the hash of one of its blocks (or of a later one) and the group keys of its epochs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from blockful_py.errors import ContractError, VerificationError
from blockful_py.ledger.protocols import LiveReader
from blockful_py.record.checks import require
from blockful_py.record.fields import octets
from blockful_py.record.openings import ContractId
from blockful_py.record.proofs.checking import CheckedRecord
from blockful_py.record.proofs.record import ArchiveHistory
from blockful_py.types import Bytes32, StoredArchiveRecord


@dataclass(frozen=True, slots=True)
class Anchors:
    """Hashes of blocks, identifiers of group keys, heads of the archive; 32 bytes each."""

    block_hashes: frozenset[bytes] = frozenset()
    key_ids: frozenset[bytes] = frozenset()
    archive_heads: frozenset[bytes] = frozenset()

    def __or__(self, other: Anchors) -> Anchors:
        return Anchors(
            self.block_hashes | other.block_hashes,
            self.key_ids | other.key_ids,
            self.archive_heads | other.archive_heads,
        )


class KeySource(Protocol):
    """The registry of the epochs' group keys."""

    def key_id(self, epoch: int) -> Bytes32: ...


class ArchiveSource(ContractId, Protocol):
    """The archive chain, read through a node."""

    def length(self) -> int: ...

    def records(self, start: int, count: int) -> Sequence[StoredArchiveRecord]: ...


def check_anchors(record: CheckedRecord, anchors: Anchors) -> int:
    """Height of the highest trusted block.

    Raises VerificationError (`anchor`) unless the group keys are trusted, and a block at or above every model
    of the record is; if the headers do not begin at genesis, the block before them must be trusted too.
    """
    must = partial(require, "anchor", "the record")
    for epoch, key_id in record.key_ids().items():
        must(
            key_id in anchors.key_ids,
            f"nobody said that the group key of epoch {epoch} has the id 0x{key_id.hex()}: find out from "
            "somebody you trust and give it with --key-id, or name a run with --run",
        )
    trusted = [height for height, known in record.block_hashes.items() if known in anchors.block_hashes]
    must(
        any(height >= record.needed for height in trusted),
        f"nobody said that the hash of block {record.last} is 0x{record.block_hashes[record.last].hex()}: "
        f"find out from somebody you trust and give it, or that of a block from {record.needed} on, with "
        "--block-hash, or name a run with --run",
    )
    below = record.first - 1
    must(
        record.first == 1 or below in trusted,
        f"its headers begin after block {below} and not at genesis: give the hash of that block, "
        f"0x{record.block_hashes[below].hex()} by this document, with --block-hash if you trust it",
    )
    return max(trusted)


def check_archive_anchor(heads: Sequence[bytes], anchors: Anchors) -> int | None:
    """Number of records that a trusted head covers; None without a given head.

    `heads`: heads after 0, 1, ... all of the records; empty for a document without records.
    Raises VerificationError (`anchor`) for a given head that this archive does not have.
    """
    must = partial(require, "anchor", "the archive")
    if not anchors.archive_heads:
        return None
    must(bool(heads), "a head is given, and the document has no records")
    trusted = [count for count, head in enumerate(heads) if head in anchors.archive_heads]
    must(
        bool(trusted),
        f"after its {len(heads) - 1} records the head is 0x{heads[-1].hex()}; this archive never "
        "had the head that you trust",
    )
    return max(trusted)


def anchors_of_blocks(record: CheckedRecord, live: LiveReader, keys: KeySource) -> Anchors:
    """The hashes and keys that the live chain has for a record.

    Raises VerificationError (`anchor`) if the record is of another chain or contract, or of blocks or keys
    that the chain does not have.
    """
    must = partial(require, "anchor", "the record")
    _require_same((record.chain_id, record.address), (live.chain_id, live.address), "live chain")
    height = live.height()
    must(record.last <= height, f"it has a block {record.last}, the chain ends at block {height}")
    for epoch, key_id in record.key_ids().items():
        must(
            keys.key_id(epoch) == key_id, f"its group key of epoch {epoch} is not the one that the chain has"
        )
    hashes = {live.block_hash(record.last), live.block_hash(record.first - 1)}
    return Anchors(frozenset(hashes), frozenset(record.key_ids().values()))


def check_current(record: CheckedRecord, live: LiveReader) -> None:
    """Checks that the models are current.  Raises VerificationError (`current`) if one was replaced since."""
    positions = list(record.nodes)
    try:
        current = live.transactions(positions)
    except ContractError as error:
        raise VerificationError("current", "the record", f"the chain has no such model: {error}") from None
    for position, transaction in zip(positions, current, strict=True):
        recorded = record.transactions[position]
        require(
            "current",
            f"model {record.nodes[position].name} at {position}",
            (transaction.version, transaction.uri) == (recorded.version, recorded.uri),
            f"this is version {recorded.version}, the chain holds version {transaction.version}",
        )


def anchors_in_archive(history: ArchiveHistory, heads: Sequence[bytes], archive: ArchiveSource) -> Anchors:
    """The head that the archive chain's own records give at the history's length.

    Raises VerificationError (`anchor`) if the history is of another chain or contract, or longer.
    """
    must = partial(require, "anchor", "the archive")
    _require_same(
        (history.chain_id, octets(history.contract)), (archive.chain_id, archive.address), "archive chain"
    )
    count, length = len(heads) - 1, archive.length()
    must(count <= length, f"it has {count} records, the chain has {length}")
    own = [(each.record, each.timestamp) for each in archive.records(0, count)]
    documented = [each.stored(index) for index, each in enumerate(history.records)]
    for index, (mine, stored) in enumerate(zip(own, documented, strict=True)):
        must(mine == (stored.record, stored.timestamp), f"record {index} differs from the chain's")
    return Anchors(archive_heads=frozenset((heads[-1],)))


def _require_same(named: tuple[int, bytes], expected: tuple[int, bytes], what: str) -> None:
    require(
        "anchor",
        "the document",
        named == expected,
        f"it is of contract 0x{named[1].hex()} on chain {named[0]}, your {what} is contract "
        f"0x{expected[1].hex()} on chain {expected[0]}",
    )
