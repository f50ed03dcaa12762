# SPDX-License-Identifier: Apache-2.0
"""Decisions of a committee as certificates carry them: votes, and the transactions that they allow."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from blockful_py.crypto import curve
from blockful_py.record.proofs.fields import (
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
    Certificate,
    HeaderUpdate,
    Opening,
    Point,
    RedactCall,
    Roster,
    Update,
)

MAX_MEMBERS = 256
MAX_PATH = 32

Path = Annotated[tuple[Hash, ...], Field(max_length=MAX_PATH)]
Member = Annotated[int, Field(ge=1, le=MAX_MEMBERS)]
"""Index of a member, from 1."""


class Members(Part):
    """Who votes in an epoch, and its group key."""

    epoch: Small
    members: Annotated[tuple[Address, ...], Field(min_length=1, max_length=MAX_MEMBERS)]
    threshold: Small
    unanimous: bool
    x: Hash
    y: Hash

    def roster(self) -> Roster:
        key = Point(number(self.x), number(self.y))
        return Roster(tuple(map(octets, self.members)), self.threshold, self.unanimous, key)

    @property
    def quorum(self) -> int:
        """ceil(2n/3) votes, or all when unanimous (IQuorum)."""
        size = len(self.members)
        return size if self.unanimous else -(-2 * size // 3)

    @property
    def key_id(self) -> bytes:
        return curve.key_id(self.roster().group_key)

    @classmethod
    def of(cls, epoch: int, roster: Roster) -> Members:
        return cls(
            epoch=epoch,
            members=tuple(map(of_octets, roster.members)),
            threshold=roster.threshold,
            unanimous=roster.unanimous,
            x=of_number(roster.group_key.x),
            y=of_number(roster.group_key.y),
        )


class Votes(Part):
    """Signatures of members, by ascending index."""

    voters: Annotated[tuple[Member, ...], Field(max_length=MAX_MEMBERS)]
    signatures: Annotated[tuple[Signature, ...], Field(max_length=MAX_MEMBERS)]


class LiveUpdate(Part):
    """A replacement as it was decided."""

    position: Place
    version: Small
    cid: Cid
    px: Hash
    s: Hash
    references_hash: Hash

    def update(self) -> Update:
        return Update(
            position(self.position),
            self.version,
            parse_cid(self.cid),
            Opening(number(self.px), number(self.s)),
            octets(self.references_hash),
        )

    @classmethod
    def of(cls, update: Update) -> LiveUpdate:
        return cls(
            position=str(update.position),
            version=update.version,
            cid=cid_string(update.uri),
            px=of_number(update.opening.px),
            s=of_number(update.opening.s),
            references_hash=of_octets(update.references_hash),
        )


class LiveHeader(Part):
    """A header as it was decided to be opened again."""

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
    """What a quorum of an epoch voted for, and the transactions, chunk by chunk, that this allowed."""

    epoch: Small
    proposal: Hash
    content_hash: Hash
    votes: Votes
    archive: Annotated[tuple[CertifiedArchiveChunk, ...], Field(min_length=1)]
    live: Annotated[tuple[CertifiedLiveChunk, ...], Field(min_length=1)]

    def certificate(self) -> Certificate:
        return Certificate(
            self.epoch,
            octets(self.proposal),
            octets(self.content_hash),
            sum(1 << (index - 1) for index in set(self.votes.voters)),
            b"".join(map(octets, self.votes.signatures)),
        )

    def live_calls(self) -> tuple[RedactCall, ...]:
        """Raises FormatError when a CID is none."""
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
        """Raises FormatError when a CID is none."""
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


def votes_of(certificate: Certificate) -> Votes:
    """The votes of a certificate, one by one."""
    voters = [index for index in range(1, MAX_MEMBERS + 1) if certificate.voters >> (index - 1) & 1]
    signatures = [certificate.votes[64 * i : 64 * i + 64] for i in range(len(voters))]
    return Votes(voters=tuple(voters), signatures=tuple(map(of_octets, signatures)))
