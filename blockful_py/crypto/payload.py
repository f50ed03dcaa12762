# SPDX-License-Identifier: Apache-2.0
"""Payloads of chameleon hashes, blocks and archive records (ILiveChain, IArchiveRegistry)."""

from __future__ import annotations

from collections.abc import Iterable

from blockful_py.crypto.keccak import keccak, words
from blockful_py.crypto.merkle import standard_leaf
from blockful_py.types import Address, ArchiveRecord, Bytes32, Position, StoredArchiveRecord, Uri


def references_hash(references: Iterable[Position]) -> Bytes32:
    """keccak256(abi.encodePacked(uint256(reference)...)), references in stored order."""
    return keccak(words(*(reference.packed for reference in references)))


def transaction_payload(uri: Uri, owner: Address, references_hash: Bytes32) -> bytes:
    """keccak256(abi.encode(uri, codec, owner, referencesHash)); `owner` is a 20-byte address."""
    return keccak(words(uri.digest, uri.codec, _address(owner), references_hash))


def header_payload(parent_hash: Bytes32, merkle_root: Bytes32, timestamp: int, tx_count: int) -> bytes:
    """keccak256(abi.encode(parentHash, merkleRoot, timestamp, txCount)); `timestamp` in seconds."""
    return keccak(words(parent_hash, merkle_root, timestamp, tx_count))


def block_hash(parent_hash: Bytes32, ch: int, merkle_root: Bytes32, timestamp: int) -> Bytes32:
    """keccak256(abi.encode(parentHash, ch, merkleRoot, timestamp)): the immutable fields only."""
    return keccak(words(parent_hash, ch, merkle_root, timestamp))


def genesis_block_hash(chain_id: int, contract: Address) -> bytes:
    """Hash of block 0, keccak256(abi.encode(chainid, LiveChain))."""
    return keccak(words(chain_id, _address(contract)))


def block_leaf(position: Position, ch: int) -> bytes:
    """Leaf of a block's Merkle tree: keccak256(keccak256(abi.encode(uint256(position), bytes32(ch))))."""
    return standard_leaf(words(position.packed, ch))


def archive_genesis_head(chain_id: int, contract: Address) -> bytes:
    """Head of the empty archive, keccak256(abi.encode(chainid, ArchiveRegistry))."""
    return keccak(words(chain_id, _address(contract)))


def archive_head_step(head: Bytes32, index: int, record: ArchiveRecord, timestamp: int) -> bytes:
    """Head n + 1 of the archive from head n, n = `index`; `timestamp` in seconds.

    keccak256(abi.encode(head, n, position, version, reason, codec, digest, timestamp))
    """
    packed, uri = record.position.packed, record.uri
    return keccak(words(head, index, packed, record.version, record.reason, uri.codec, uri.digest, timestamp))


def archive_head(head: Bytes32, records: Iterable[StoredArchiveRecord]) -> bytes:
    """The archive's head after further records, from the head before them."""
    for each in records:
        head = archive_head_step(head, each.index, each.record, each.timestamp)
    return head


def _address(value: bytes) -> bytes:
    if len(value) != 20:
        raise ValueError(f"an address has 20 bytes, not {len(value)}")
    return value
