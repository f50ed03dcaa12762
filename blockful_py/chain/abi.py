# SPDX-License-Identifier: Apache-2.0
"""Converts the shared types to and from the contracts' ABI, and computes the digests of actions.

A certificate commits to the digest of an action: keccak256(abi.encode(arguments of the action)).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.roster import Roster
from blockful_py.errors import ChainError
from blockful_py.types import (
    Action,
    Address,
    ArchiveReason,
    ArchiveRecord,
    Bytes32,
    Certificate,
    Codec,
    Header,
    HeaderUpdate,
    ModelTransaction,
    NewBlock,
    Opening,
    Point,
    Position,
    Publication,
    StoredArchiveRecord,
    Update,
    Uri,
)

OPENING = "(uint256,uint256)"
PUBLICATION = f"(uint256,{OPENING},bytes32,uint8,address,uint64[])"
NEW_BLOCK = f"(bytes32,uint64,uint256,{OPENING},{PUBLICATION}[])"
UPDATE = f"(uint64,uint32,bytes32,uint8,{OPENING})"
HEADER_UPDATE = f"(uint32,uint32,{OPENING})"
RECORD = "(uint64,uint32,uint8,uint8,bytes32)"
_RECORD = struct.Struct(">QIBB32s")
"""A record in an `Archived` event: position, version, reason, codec, digest."""
ROSTER = "((uint256,uint256)[],uint32,bool,uint256,uint256)"


def new_block_digest(block: NewBlock) -> bytes:
    """Digest of `LiveChain.append`."""
    return keccak(_encode([NEW_BLOCK], [new_block(block)]))


def redaction_digest(updates: Sequence[Update], header_updates: Sequence[HeaderUpdate]) -> bytes:
    """Digest of `LiveChain.redact`."""
    values = [[update(each) for each in updates], [header_update(each) for each in header_updates]]
    return keccak(_encode([f"{UPDATE}[]", f"{HEADER_UPDATE}[]"], values))


def archive_digest(expected_head: Bytes32, timestamp: int, records: Sequence[ArchiveRecord]) -> bytes:
    """Digest of `ArchiveRegistry.append`; `timestamp` in seconds."""
    values = [expected_head, timestamp, [record(each) for each in records]]
    return keccak(_encode(["bytes32", "uint64", f"{RECORD}[]"], values))


def barred_digest(account: Address, barred: bool) -> bytes:
    """Digest of `setBarred` of both registries; `account` is a 20-byte address."""
    return keccak(_encode(["address", "bool"], [account, barred]))


def admission_digest(account: Address) -> bytes:
    """Digest of `ParticipantRegistry.admit`; `account` is a 20-byte address."""
    return keccak(_encode(["address"], [account]))


def file_digest(digest: Bytes32) -> Bytes32:
    """Digest of `ParticipantRegistry.changeFile`."""
    return keccak(_encode(["bytes32"], [digest]))


def filed_content(by: bytes, request: Uri, blocks: int, height: int) -> bytes:
    """Content hash that ParticipantRegistry stores for a request.

    H(by || digest || codec || blocks || height), cut to 24 bytes.
    """
    types = ["address", "bytes32", "uint8", "uint64", "uint32"]
    return keccak(_encode(types, [by, request.digest, int(request.codec), blocks, height]))[:24]


def decision_digest(request: int, content: bytes, admitted: bool) -> bytes:
    """Digest of `ParticipantRegistry.decide`; `content` is the request's `filed_content`."""
    return keccak(_encode(["uint32", "bytes24", "bool"], [request, content, admitted]))


def auditor_digest(auditor: Address, key_x: int, key_y: int) -> bytes:
    """Digest of `ArchiveRegistry.setAuditor`; `auditor` is a 20-byte address."""
    return keccak(_encode(["address", "uint256", "uint256"], [auditor, key_x, key_y]))


def roster_digest(epoch: int, members: Roster) -> bytes:
    """Digest of `QuorumMirror.advance`."""
    return keccak(_encode(["uint64", ROSTER], [epoch, roster(members)]))


def opening(value: Opening) -> tuple[int, int]:
    return value.px, value.s


def publication(value: Publication) -> tuple[Any, ...]:
    references = [reference.packed for reference in value.references]
    return value.ch, opening(value.opening), value.uri.digest, int(value.uri.codec), value.owner, references


def new_block(value: NewBlock) -> tuple[Any, ...]:
    publications = [publication(each) for each in value.publications]
    return value.parent_hash, value.timestamp, value.ch, opening(value.opening), publications


def update(value: Update) -> tuple[Any, ...]:
    uri = value.uri
    return value.position.packed, value.version, uri.digest, int(uri.codec), opening(value.opening)


def header_update(value: HeaderUpdate) -> tuple[Any, ...]:
    return value.height, value.version, opening(value.opening)


def record(value: ArchiveRecord) -> tuple[Any, ...]:
    return value.position.packed, value.version, int(value.reason), int(value.uri.codec), value.uri.digest


def roster(value: Roster) -> tuple[Any, ...]:
    keys = [(key.x, key.y) for key in value.keys]
    return keys, value.threshold, value.unanimous, value.group_key.x, value.group_key.y


def certificate(value: Certificate) -> tuple[Any, ...]:
    return value.epoch, value.proposal, value.content_hash, value.voters, value.nonce, value.s


def action(value: Action) -> tuple[Any, ...]:
    return certificate(value.certificate), value.chunk, value.chunks, list(value.path)


def to_transaction(position: Position, value: Sequence[Any]) -> ModelTransaction:
    """Converts a model that `LiveChain.transaction` returned, without its opening.

    Raises ChainError for a codec that the contract never stores.
    """
    ch, digest, codec, version, epoch, owner, settled, references = value
    if codec not in set(Codec):
        raise ChainError(f"the chain holds codec {codec:#x} for the model at {position}: it was altered.")
    return ModelTransaction(
        position=position,
        ch=ch,
        opening=None,
        uri=Uri(digest, Codec(codec)),
        version=version,
        epoch=epoch,
        owner=owner,
        settled=settled,
        references=tuple(map(Position.unpack, references)),
    )


def to_header(height: int, value: Sequence[Any]) -> Header:
    """Converts a header that `LiveChain.header` returned, without its opening."""
    parent_hash, ch, version, epoch, merkle_root, timestamp, tx_count = value
    return Header(height, parent_hash, ch, None, version, epoch, merkle_root, timestamp, tx_count)


def to_record(index: int, value: Sequence[Any]) -> StoredArchiveRecord:
    """Converts a record that `ArchiveRegistry.records` returned.

    Raises ChainError for a reason or codec that the contract never stores.
    """
    fields, timestamp = value
    return _stored_record(index, timestamp, fields)


def logged_records(arguments: Mapping[str, Any]) -> tuple[StoredArchiveRecord, ...]:
    """The records in an `Archived` event.

    Raises ChainError for bytes that are not whole records, or a record that the contract never stores.
    """
    first, timestamp, packed = arguments["first"], arguments["timestamp"], arguments["records"]
    if not packed or len(packed) % _RECORD.size:
        raise ChainError(
            f"the archive's event of records from {first} on has {len(packed)} bytes, not {_RECORD.size} for "
            "each: it was altered, so use another node of the archive chain."
        )
    records = enumerate(_RECORD.iter_unpack(packed), start=first)
    return tuple(_stored_record(index, timestamp, fields) for index, fields in records)


def _stored_record(index: int, timestamp: int, fields: Sequence[Any]) -> StoredArchiveRecord:
    position, version, reason, codec, digest = fields
    if codec not in set(Codec) or reason not in set(ArchiveReason):
        raise ChainError(
            f"record {index} of the archive has reason {reason} and codec {codec:#x}: it was altered."
        )
    record = ArchiveRecord(
        Position.unpack(position), version, ArchiveReason(reason), Uri(digest, Codec(codec))
    )
    return StoredArchiveRecord(index, record, timestamp)


def to_certificate(value: Mapping[str, Any]) -> Certificate:
    """The certificate in a `RecordsCertified` event."""
    decision = (value["epoch"], value["proposal"], value["contentHash"], value["voters"])
    return Certificate(*decision, value["nonce"], value["s"])


def to_roster(value: Sequence[Any]) -> Roster:
    """Converts a roster that `IQuorum.roster` returned."""
    keys, threshold, unanimous, key_x, key_y = value
    return Roster(tuple(Point(x, y) for x, y in keys), threshold, unanimous, Point(key_x, key_y))


def _encode(types: Sequence[str], values: Sequence[Any]) -> bytes:
    # Deferred: eth_abi takes as long to import as everything else that reads a record.
    from eth_abi.abi import encode

    return encode(types, values)
