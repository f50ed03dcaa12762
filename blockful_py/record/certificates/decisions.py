# SPDX-License-Identifier: Apache-2.0
"""A committee's decisions in certificates: votes, and the transactions that they allow."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from blockful_py.crypto import curve
from blockful_py.crypto.roster import Roster, bits
from blockful_py.record.fields import (
    Address,
    Cid,
    Hash,
    Part,
    Place,
    Seconds,
    Signature,
    Small,
    number,
    octets,
    of_number,
    of_octets,
    position,
)
from blockful_py.record.proofs.record import Archived
from blockful_py.storage.cid import cid_string, parse_cid
from blockful_py.types import (
    Action,
    ArchiveCall,
    Bytes32,
    Certificate,
    HeaderUpdate,
    Opening,
    Point,
    RedactCall,
    Update,
)

MAX_MEMBERS = 256
MAX_PATH = 32

Path = Annotated[tuple[Hash, ...], Field(max_length=MAX_PATH)]
Member = Annotated[int, Field(ge=1, le=MAX_MEMBERS)]
"""Index of a member, from 1."""


class VotingKey(Part):
    """A member's key, affine coordinates."""

    x: Hash
    y: Hash


class Members(Part):
    """The voters of an epoch, and its group key."""

    epoch: Small
    keys: Annotated[tuple[VotingKey, ...], Field(min_length=1, max_length=MAX_MEMBERS)]
    threshold: Small
    unanimous: bool
    x: Hash
    y: Hash

    def roster(self) -> Roster:
        key = Point(number(self.x), number(self.y))
        keys = tuple(Point(number(each.x), number(each.y)) for each in self.keys)
        return Roster(keys, self.threshold, self.unanimous, key)

    @property
    def quorum(self) -> int:
        """Number of votes needed for a decision."""
        return self.roster().quorum

    @property
    def key_id(self) -> Bytes32:
        return curve.key_id(self.roster().group_key)

    @classmethod
    def of(cls, epoch: int, roster: Roster) -> Members:
        return cls(
            epoch=epoch,
            keys=tuple(VotingKey(x=of_number(key.x), y=of_number(key.y)) for key in roster.keys),
            threshold=roster.threshold,
            unanimous=roster.unanimous,
            x=of_number(roster.group_key.x),
            y=of_number(roster.group_key.y),
        )


class Votes(Part):
    """Signatures of members, by ascending index."""

    voters: Annotated[tuple[Member, ...], Field(max_length=MAX_MEMBERS)]
    signatures: Annotated[tuple[Signature, ...], Field(max_length=MAX_MEMBERS)]


class Cosigned(Part):
    """The signature of a certificate's voters for the archive: address(R), and s."""

    voters: Annotated[tuple[Member, ...], Field(max_length=MAX_MEMBERS)]
    nonce: Address
    s: Hash

    @classmethod
    def of(cls, certificate: Certificate) -> Cosigned:
        voters = [index for index in range(1, MAX_MEMBERS + 1) if certificate.voters >> (index - 1) & 1]
        nonce, s = of_octets(certificate.nonce), of_number(certificate.s)
        return cls(voters=tuple(voters), nonce=nonce, s=s)


class LiveUpdate(Part):
    """A replacement, as decided."""

    position: Place
    version: Small
    cid: Cid
    px: Hash
    s: Hash

    def update(self) -> Update:
        return Update(
            position(self.position),
            self.version,
            parse_cid(self.cid),
            Opening(number(self.px), number(self.s)),
        )

    @classmethod
    def of(cls, update: Update) -> LiveUpdate:
        return cls(
            position=str(update.position),
            version=update.version,
            cid=cid_string(update.uri),
            px=of_number(update.opening.px),
            s=of_number(update.opening.s),
        )


class LiveHeader(Part):
    """A header's new opening, as decided."""

    height: Small
    version: Small
    px: Hash
    s: Hash


class CertifiedLiveChunk(Part):
    """One transaction to the live chain, and its path to the decision's content."""

    updates: Annotated[tuple[LiveUpdate, ...], Field(min_length=1)]
    headers: tuple[LiveHeader, ...]
    path: Path


class CertifiedArchiveChunk(Part):
    """One transaction to the archive, and its path to the decision's content."""

    first: Small
    expected_head: Hash
    timestamp: Seconds
    records: Annotated[tuple[Archived, ...], Field(min_length=1)]
    path: Path


class CertifiedDecision(Part):
    """A decision of an epoch's quorum, and the transactions, chunk by chunk, that it allowed.

    Attributes:
        signed: the certificate for the archive, whose content covers the live chain's transactions as well.
    """

    epoch: Small
    proposal: Hash
    content_hash: Hash
    signed: Cosigned
    archive: Annotated[tuple[CertifiedArchiveChunk, ...], Field(min_length=1)]
    live: Annotated[tuple[CertifiedLiveChunk, ...], Field(min_length=1)]

    def certificate(self) -> Certificate:
        return Certificate(
            self.epoch,
            octets(self.proposal),
            octets(self.content_hash),
            bits(set(self.signed.voters)),
            octets(self.signed.nonce),
            number(self.signed.s),
        )

    def live_calls(self) -> tuple[RedactCall, ...]:
        """The transactions to the live chain.  Raises FormatError for an invalid CID."""
        return tuple(
            RedactCall(
                tuple(each.update() for each in chunk.updates),
                tuple(
                    HeaderUpdate(each.height, each.version, Opening(number(each.px), number(each.s)))
                    for each in chunk.headers
                ),
                self._action(index, len(self.live), chunk.path),
            )
            for index, chunk in enumerate(self.live)
        )

    def archive_calls(self) -> tuple[ArchiveCall, ...]:
        """The transactions to the archive.  Raises FormatError for an invalid CID."""
        return tuple(
            ArchiveCall(
                chunk.first,
                octets(chunk.expected_head),
                chunk.timestamp,
                tuple(each.stored(0).record for each in chunk.records),
                self._action(index, len(self.archive), chunk.path),
            )
            for index, chunk in enumerate(self.archive)
        )

    def _action(self, chunk: int, chunks: int, path: tuple[str, ...]) -> Action:
        return Action(self.certificate(), chunk, chunks, tuple(map(octets, path)))
