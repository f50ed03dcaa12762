# SPDX-License-Identifier: Apache-2.0
"""Values exchanged between stages, with the same meaning in Solidity and Python."""

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
    """Allowed length in bytes of a value received from others (`committee.codec` checks it)."""

    least: int
    most: int

    def __str__(self) -> str:
        return str(self.least) if self.least == self.most else f"{self.least} to {self.most}"


Address = Annotated[bytes, Length(20, 20)]
Bytes32 = Annotated[bytes, Length(32, 32)]
"""A digest or a random number."""
Bytes64 = Annotated[bytes, Length(64, 64)]
"""A signature (`crypto.signature`)."""

HEADER_INDEX = 2**32 - 1
"""Position index of a block's header."""


class Readable(Protocol):
    """A source of bytes, such as an open file."""

    def read(self, count: int, /) -> bytes:
        """Reads at most `count` bytes; empty only at the end."""


class Paradigm(StrEnum):
    """How the committee decides: one certificate for all models, or one for each."""

    PARALLEL = "parallel"
    SEQUENTIAL = "sequential"


class References(StrEnum):
    """The references of the models that a request retrains."""

    KEPT = "kept"
    """The models start again from the references that they were published with."""

    CHOSEN_AGAIN = "chosen again"
    """Their owners choose again by eq. 1, without the forgotten data."""

    @property
    def exact(self) -> str:
        """Words for an exact method with such references (`unlearning.audit.exactness`)."""
        return "exact given the graph" if self is References.KEPT else "exact with the graph chosen again"


class Checked(StrEnum):
    """How committee members check new weights before they sign; the strongest check first."""

    EXACT = "exact"
    """Members recompute every weight, bit for bit, from the published ones alone: the result is exact."""

    RECOMPUTED = "recomputed"
    """Members recompute every weight, bit for bit, from the weights announced by the owners of the starts."""

    REPLAYED = "replayed"
    """Members measure the accuracies, and an auditor, drawn after the owner has committed to its training,
    replays all of it and signs.
    """

    SPOT_CHECKED = "spot_checked"
    """Members measure the accuracies, and recompute some of the owner's training steps, drawn after the owner
    has committed to all of them.
    """

    MEASURED = "measured"
    """Members measure the accuracies on forgotten and retained classes again, on public test data."""

    ATTESTED = "attested"
    """Members measure only the accuracy on the retained classes; owners vouch for the forgetting."""


class Codec(IntEnum):
    """Multicodec of the block that a CID addresses."""

    RAW = 0x55
    DAG_PB = 0x70


class RequestState(IntEnum):
    """The committee's decision on a request, as ParticipantRegistry stores it."""

    UNKNOWN = 0
    """Never filed."""
    FILED = 1
    """Filed; the committee has not decided."""
    ADMITTED = 2
    """Accepts hand-ins up to its deadline."""
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
        """The packed form that the contracts use, `height << 32 | index`."""
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
    """Opening of a chameleon hash: px is x of the point P with even y, 0 < px, s < n."""

    px: int
    s: int


@dataclass(frozen=True, slots=True)
class Certificate:
    """A committee's decision on one proposal, with its voters' joint signature for one contract.

    Attributes:
        voters: bit i is set if member i signed.
        nonce: address(R) of the Schnorr signature, 20 bytes.
        s: response of the Schnorr signature.
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
    """A model's first publication on the live chain; `opening` follows from the rest (crypto.chameleon)."""

    ch: int
    opening: Opening
    uri: Uri
    owner: Address
    references: tuple[Position, ...]


@dataclass(frozen=True, slots=True)
class NewBlock:
    """A block proposed to the live chain; `timestamp` in seconds."""

    parent_hash: Bytes32
    timestamp: int
    ch: int
    opening: Opening
    publications: tuple[Publication, ...]


@dataclass(frozen=True, slots=True)
class Update:
    """Replacement of the URI at `position`; `version` is the new version."""

    position: Position
    version: int
    uri: Uri
    opening: Opening


@dataclass(frozen=True, slots=True)
class HeaderUpdate:
    """New opening of a block header; `version` is the new version."""

    height: int
    version: int
    opening: Opening


@dataclass(frozen=True, slots=True)
class ModelTransaction:
    """Current state of a transaction of the live chain.

    `opening` belongs to this version; None for version 0, whose opening follows from the content
    (`record.openings`), and if neither the node nor a file has its event.
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
    """Current state of a block header of the live chain; `timestamp` in seconds.

    `opening` is None as in `ModelTransaction`.
    """

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
    """A record proposed to the archive chain."""

    position: Position
    version: int
    reason: ArchiveReason
    uri: Uri


@dataclass(frozen=True, slots=True)
class StoredArchiveRecord:
    """A record stored on the archive chain; `timestamp` in seconds."""

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
    """One chunk of a redaction, with the action that authorises it."""

    updates: tuple[Update, ...]
    header_updates: tuple[HeaderUpdate, ...]
    action: Action


@dataclass(frozen=True, slots=True)
class ArchivedChunk:
    """One chunk of archive records, as the archive logged it; `first` is the index of its first record."""

    first: int
    expected_head: bytes
    timestamp: int
    records: tuple[ArchiveRecord, ...]

    @classmethod
    def of(cls, head: bytes, stored: Sequence[StoredArchiveRecord]) -> ArchivedChunk:
        """The chunk of records (at least one) that were appended together to `head`."""
        records = tuple(each.record for each in stored)
        return cls(stored[0].index, head, stored[0].timestamp, records)


@dataclass(frozen=True, slots=True)
class ArchiveCall:
    """One chunk of archive records, with its authorising action; `first` is the index of its first record."""

    first: int
    expected_head: bytes
    timestamp: int
    records: tuple[ArchiveRecord, ...]
    action: Action


@dataclass(frozen=True, slots=True)
class Receipt:
    """Result of a transaction: its hash, block, gas used and the contract's decoded events."""

    transaction_hash: bytes
    block_number: int
    gas_used: int
    events: tuple[tuple[str, Mapping[str, Any]], ...] = field(default=(), repr=False)
