# SPDX-License-Identifier: Apache-2.0
"""The histories of both chains as their contracts logged them, and the results of comparing them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from blockful_py.ledger.protocols import ArchiveLedger, LiveLedger
from blockful_py.types import (
    ArchivedChunk,
    Bytes32,
    Certificate,
    NewBlock,
    Position,
    RedactedChunk,
    StoredArchiveRecord,
    Uri,
)

PROMISES = ("order", "version", "archived", "chain", "once", "certified", "state")
"""The compared promises (`blockful_py.record.history`)."""


class LoggedEvent(Protocol):
    """An event as a contract logged it."""

    @property
    def name(self) -> str: ...

    @property
    def arguments(self) -> Mapping[str, Any]: ...

    @property
    def transaction_hash(self) -> Bytes32: ...


class LoggedVersion(Protocol):
    """A version of a model as the live chain logged it."""

    @property
    def position(self) -> Position: ...

    @property
    def version(self) -> int: ...

    @property
    def uri(self) -> Uri: ...


class LiveEvents(LiveLedger, Protocol):
    """The live chain and its events, oldest first."""

    def newest_block(self) -> str: ...

    def block_hashes(self, heights: Sequence[int]) -> Sequence[bytes]: ...

    def log(self) -> Sequence[LoggedEvent]: ...

    def published(self) -> Sequence[LoggedVersion]: ...

    def redactions(self) -> Sequence[LoggedVersion]: ...

    def redacted(self) -> Mapping[bytes, Sequence[RedactedChunk]]: ...

    def appended(self, height: int, uris: Sequence[Uri]) -> NewBlock: ...


class ArchiveEvents(ArchiveLedger, Protocol):
    """The archive chain and its events, oldest first."""

    def newest_block(self) -> str: ...

    def log(self) -> Sequence[LoggedEvent]: ...

    def archived(self) -> Sequence[StoredArchiveRecord]: ...

    def appended(self) -> Mapping[bytes, tuple[Certificate, Sequence[ArchivedChunk]]]: ...


@dataclass(frozen=True, slots=True)
class KnownBlock:
    """A block of the live chain before the start of a comparison.

    Attributes:
        version: version of its header.
        count: number of its models.
        block_hash: hash over its immutable parts.
    """

    version: int
    count: int
    block_hash: Bytes32


@dataclass(frozen=True, slots=True)
class Begun:
    """State of both chains at the start of a comparison, with no decision unfinished.

    Attributes:
        blocks: blocks of the live chain, from height 1.
        models: version and URI of each model.
        length: length of the archive.
        head: head of the archive; None if it is empty.
    """

    blocks: tuple[KnownBlock, ...] = ()
    models: Mapping[Position, tuple[int, Uri]] = field(default_factory=dict)
    length: int = 0
    head: Bytes32 | None = None

    def version(self, place: Position) -> int | None:
        """Version of a model or header; None if it did not exist."""
        if place in self.models:
            return self.models[place][0]
        known = 0 < place.height <= len(self.blocks) and place == Position.of_header(place.height)
        return self.blocks[place.height - 1].version if known else None


BEGINNING = Begun()
"""Empty chains."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken promise.  `position`: the model's or header's; None if it concerns no single one."""

    promise: str
    subject: str
    position: Position | None
    detail: str


@dataclass(frozen=True, slots=True)
class CheckedHistory:
    """The violations, and the archived decisions that the live chain has not completed (`pending`)."""

    violations: tuple[Violation, ...]
    pending: tuple[bytes, ...]

    @property
    def kept(self) -> bool:
        """Whether all promises are kept."""
        return not self.violations
