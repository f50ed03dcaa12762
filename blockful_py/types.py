# SPDX-License-Identifier: Apache-2.0
"""Values that the stages exchange, with the same meaning in Solidity and Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Annotated, Any, Protocol

__all__ = ["Paradigm", "Position"]

Rng = Callable[[int], bytes]
"""A source of randomness: `rng(n)` returns n bytes."""


@dataclass(frozen=True, slots=True)
class Length:
    """Bytes that a value of others may have (`committee.codec` checks them)."""

    least: int
    most: int

    def __str__(self) -> str:
        return str(self.least) if self.least == self.most else f"{self.least} to {self.most}"


Address = Annotated[bytes, Length(20, 20)]
Bytes32 = Annotated[bytes, Length(32, 32)]
"""A digest, or a number drawn at random."""
Bytes64 = Annotated[bytes, Length(64, 64)]
"""A signature (`crypto.signature`)."""

HEADER_INDEX = 2**32 - 1
"""Index of a block header's own position."""


class Readable(Protocol):
    """What a file is read from."""

    def read(self, count: int, /) -> bytes:
        """At most `count` bytes; none at the end only."""


class Paradigm(StrEnum):
    """How the committee decides: one certificate for all models, or one for each."""

    PARALLEL = "parallel"
    SEQUENTIAL = "sequential"


class Checked(StrEnum):
    """What members of the committee do about new weights before they sign for them."""

    RECOMPUTED = "recomputed"
    """They compute every weight themselves, bit for bit, from what the owners of the starts announce."""

    MEASURED = "measured"
    """They measure the accuracies on the forgotten and on the rest again, on public test data."""

    SPOT_CHECKED = "spot_checked"
    """They measure the accuracies too, and compute again steps of the owner's training that were drawn after
    it had committed to all of them."""

    ATTESTED = "attested"
    """They measure the accuracy on the rest alone; that the data was left out, the owners say."""


class Codec(IntEnum):
    """Multicodec of a CID's block."""

    RAW = 0x55
    DAG_PB = 0x70


class RequestState(IntEnum):
    """What the committee has decided about a request, as ParticipantRegistry stores it."""

    UNKNOWN = 0
    """Nobody filed it."""
    FILED = 1
    """It has not decided."""
    ADMITTED = 2
    """The request takes hand-ins up to its deadline."""
    DISMISSED = 3


class ArchiveReason(IntEnum):
    PUBLISHED = 0
    SUPERSEDED = 1


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """Place of a model on the live chain: block height (from 1) and index in the block."""

    height: int
    index: int

    def __post_init__(self) -> None:
        if not (0 <= self.height < 2**32 and 0 <= self.index < 2**32):
            raise ValueError(f"height and index must be in [0, 2^32), not {self.height}, {self.index}")

    @property
    def packed(self) -> int:
        """`height << 32 | index`, as the contracts write it."""
        return self.height << 32 | self.index

    @classmethod
    def unpack(cls, packed: int) -> Position:
        return cls(packed >> 32, packed & 0xFFFFFFFF)

    @classmethod
    def of_header(cls, height: int) -> Position:
        return cls(height, HEADER_INDEX)

    def __str__(self) -> str:
        return f"{self.height}:{self.index}"


@dataclass(frozen=True, slots=True)
class Uri:
    """A CIDv1 as the chain stores it: its sha2-256 digest (32 bytes) and its codec."""

    digest: Bytes32
    codec: Codec


@dataclass(frozen=True, slots=True)
class Point:
    """A point of secp256k1 other than infinity, affine coordinates."""

    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Opening:
    """Opening of a chameleon hash: x of the point P with even y, and s (design: 0 < px, s < n)."""

    px: int
    s: int


@dataclass(frozen=True, slots=True)
class Certificate:
    """A committee's decision on one proposal, signed by its voters together for one contract.

    Attributes:
        voters: bit i is set when member i signed.
        nonce: address(R) of the Schnorr signature, 20 bytes.
        s: its response.
    """

    epoch: int
    proposal: Bytes32
    content_hash: Bytes32
    voters: int
    nonce: Address
    s: int


@dataclass(frozen=True, slots=True)
class Action:
    """One chunk of one action, with its Merkle path to the certificate's content hash."""

    certificate: Certificate
    chunk: int
    chunks: int
    path: tuple[Bytes32, ...]


@dataclass(frozen=True, slots=True)
class Publication:
    """A model as it is first published on the live chain."""

    ch: int
    opening: Opening
    uri: Uri
    owner: Address
    references: tuple[Position, ...]


@dataclass(frozen=True, slots=True)
class NewBlock:
    """A block as it is proposed to the live chain; `timestamp` in seconds."""

    parent_hash: Bytes32
    timestamp: int
    ch: int
    opening: Opening
    publications: tuple[Publication, ...]


@dataclass(frozen=True, slots=True)
class Update:
    """Replacement of the URI at `position`; `version` is the one it will have."""

    position: Position
    version: int
    uri: Uri
    opening: Opening


@dataclass(frozen=True, slots=True)
class HeaderUpdate:
    """New opening of a block header; `version` is the one it will have."""

    height: int
    version: int
    opening: Opening


@dataclass(frozen=True, slots=True)
class ModelTransaction:
    """A transaction of the live chain as it stands.

    `opening`: of this version; None where neither the node nor a file has the event that holds it.
    """

    position: Position
    ch: int
    opening: Opening | None
    uri: Uri
    version: int
    epoch: int
    owner: bytes
    settled: bool
    references: tuple[Position, ...]


@dataclass(frozen=True, slots=True)
class Header:
    """A block header of the live chain as it stands; `timestamp` in seconds, `opening` as a transaction's."""

    height: int
    parent_hash: bytes
    ch: int
    opening: Opening | None
    version: int
    epoch: int
    merkle_root: bytes
    timestamp: int
    tx_count: int


@dataclass(frozen=True, slots=True)
class ArchiveRecord:
    """A record as it is proposed to the archive chain."""

    position: Position
    version: int
    reason: ArchiveReason
    uri: Uri


@dataclass(frozen=True, slots=True)
class StoredArchiveRecord:
    """A record of the archive chain as it stands; `timestamp` in seconds."""

    index: int
    record: ArchiveRecord
    timestamp: int


@dataclass(frozen=True, slots=True)
class RedactedChunk:
    """One chunk of a redaction, as the live chain logged it."""

    updates: tuple[Update, ...]
    header_updates: tuple[HeaderUpdate, ...]


@dataclass(frozen=True, slots=True)
class RedactCall:
    """One chunk of a redaction, and what allows it."""

    updates: tuple[Update, ...]
    header_updates: tuple[HeaderUpdate, ...]
    action: Action


@dataclass(frozen=True, slots=True)
class ArchivedChunk:
    """One chunk of records, as the archive logged it; `first` is the index of its first record."""

    first: int
    expected_head: bytes
    timestamp: int
    records: tuple[ArchiveRecord, ...]

    @classmethod
    def of(cls, head: bytes, stored: Sequence[StoredArchiveRecord]) -> ArchivedChunk:
        """Records, at least one, that were appended to `head` together."""
        records = tuple(each.record for each in stored)
        return cls(stored[0].index, head, stored[0].timestamp, records)


@dataclass(frozen=True, slots=True)
class ArchiveCall:
    """One chunk of records, and what allows it; `first` is the index of its first record."""

    first: int
    expected_head: bytes
    timestamp: int
    records: tuple[ArchiveRecord, ...]
    action: Action


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a transaction did: its hash, block, gas used and the contract's decoded events."""

    transaction_hash: bytes
    block_number: int
    gas_used: int
    events: tuple[tuple[str, Mapping[str, Any]], ...] = field(default=(), repr=False)
