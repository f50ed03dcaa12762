# SPDX-License-Identifier: Apache-2.0
"""A part of a live chain and of its archive, as contained in proofs and certificates."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from blockful_py.errors import RunError
from blockful_py.record.fields import (
    Address,
    ChainId,
    Cid,
    Hash,
    Part,
    Place,
    Seconds,
    Small,
    number,
    octets,
    of_number,
    of_octets,
    position,
)
from blockful_py.storage.cid import cid_string, parse_cid
from blockful_py.types import (
    ArchiveReason,
    ArchiveRecord,
    Header,
    ModelTransaction,
    Opening,
    Point,
    StoredArchiveRecord,
)

MAX_PATH = 32
"""Maximum number of hashes of a Merkle path: a block holds fewer than 2^32 models."""


class GroupKey(Part):
    """Group key Y of an epoch, affine."""

    epoch: Small
    x: Hash
    y: Hash

    def point(self) -> Point:
        return Point(number(self.x), number(self.y))

    @classmethod
    def of(cls, epoch: int, key: Point) -> GroupKey:
        return cls(epoch=epoch, x=of_number(key.x), y=of_number(key.y))


class BlockHeader(Part):
    """A current header; its height follows from its place."""

    parent_hash: Hash
    ch: Hash
    px: Hash
    s: Hash
    version: Small
    epoch: Small
    merkle_root: Hash
    timestamp: Seconds
    tx_count: Small

    def header(self, height: int) -> Header:
        return Header(
            height=height,
            parent_hash=octets(self.parent_hash),
            ch=number(self.ch),
            opening=Opening(number(self.px), number(self.s)),
            version=self.version,
            epoch=self.epoch,
            merkle_root=octets(self.merkle_root),
            timestamp=self.timestamp,
            tx_count=self.tx_count,
        )

    @classmethod
    def of(cls, header: Header) -> BlockHeader:
        """Converts a header.  Raises RunError without its opening."""
        return cls(
            parent_hash=of_octets(header.parent_hash),
            ch=of_number(header.ch),
            **_opening(header.opening, f"header {header.height}"),
            version=header.version,
            epoch=header.epoch,
            merkle_root=of_octets(header.merkle_root),
            timestamp=header.timestamp,
            tx_count=header.tx_count,
        )


class Transaction(Part):
    """A settled current transaction, and its Merkle path, siblings from the bottom up."""

    position: Place
    ch: Hash
    px: Hash
    s: Hash
    cid: Cid
    version: Small
    epoch: Small
    owner: Address
    references: tuple[Place, ...]
    path: Annotated[tuple[Hash, ...], Field(max_length=MAX_PATH)]

    def transaction(self) -> ModelTransaction:
        """Converts it back.  Raises FormatError for an invalid CID."""
        return ModelTransaction(
            position=position(self.position),
            ch=number(self.ch),
            opening=Opening(number(self.px), number(self.s)),
            uri=parse_cid(self.cid),
            version=self.version,
            epoch=self.epoch,
            owner=octets(self.owner),
            settled=True,
            references=tuple(map(position, self.references)),
        )

    @classmethod
    def of(cls, transaction: ModelTransaction, path: tuple[bytes, ...]) -> Transaction:
        """Converts a transaction.  Raises RunError without its opening."""
        return cls(
            position=str(transaction.position),
            ch=of_number(transaction.ch),
            **_opening(transaction.opening, f"the model at {transaction.position}"),
            cid=cid_string(transaction.uri),
            version=transaction.version,
            epoch=transaction.epoch,
            owner=of_octets(transaction.owner),
            references=tuple(map(str, transaction.references)),
            path=tuple(map(of_octets, path)),
        )


def _opening(opening: Opening | None, whose: str) -> dict[str, str]:
    if opening is None:
        raise RunError(
            f"the node no longer has the event with the opening of {whose}: use a node that keeps past "
            "events, or a run that kept them."
        )
    return {"px": of_number(opening.px), "s": of_number(opening.s)}


class Model(Part):
    """A model: its transaction, and the bytes of its node as text."""

    transaction: Transaction
    node: str


class LiveRecord(Part):
    """Models, the transactions that their requests depend on, and the headers from one height on.

    Attributes:
        contract: the LiveChain contract.
        first: height of the first header; 1 if the headers link to genesis.
        keys: group keys of the epochs whose openings are here.
        models: the models that the document is about.
        others: transactions of starts, and of ancestors between a start and a model.
    """

    chain_id: ChainId
    contract: Address
    first: Annotated[int, Field(ge=1, lt=1 << 32)]
    headers: Annotated[tuple[BlockHeader, ...], Field(min_length=1)]
    keys: tuple[GroupKey, ...]
    models: Annotated[tuple[Model, ...], Field(min_length=1)]
    others: tuple[Transaction, ...]


class Archived(Part):
    """A record of the archive; its index follows from its place."""

    position: Place
    version: Small
    reason: Literal["published", "superseded"]
    cid: Cid
    timestamp: Seconds

    def stored(self, index: int) -> StoredArchiveRecord:
        """Converts it back.  Raises FormatError for an invalid CID."""
        reason = ArchiveReason[self.reason.upper()]
        record = ArchiveRecord(position(self.position), self.version, reason, parse_cid(self.cid))
        return StoredArchiveRecord(index, record, self.timestamp)

    @classmethod
    def of(cls, stored: StoredArchiveRecord) -> Archived:
        record = stored.record
        return cls(
            position=str(record.position),
            version=record.version,
            reason="published" if record.reason is ArchiveReason.PUBLISHED else "superseded",
            cid=cid_string(record.uri),
            timestamp=stored.timestamp,
        )


class ArchiveHistory(Part):
    """The first records of the archive (the contract ArchiveRegistry), and its head after them."""

    chain_id: ChainId
    contract: Address
    records: tuple[Archived, ...]
    head: Hash
