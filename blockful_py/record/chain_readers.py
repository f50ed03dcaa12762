# SPDX-License-Identifier: Apache-2.0
"""Interfaces for reading both chains through a node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from blockful_py.ledger.protocols import LiveLedger
from blockful_py.record.certificates.verifying import ArchiveChainSource
from blockful_py.record.events import LoggedVersion
from blockful_py.types import Bytes32, StoredArchiveRecord


class LoggedRedaction(LoggedVersion, Protocol):
    """A replacement of a model as the live chain logged it."""

    @property
    def block_number(self) -> int: ...


class NodeReader(Protocol):
    """A contract, read through a node."""

    @property
    def url(self) -> str:
        """URL of the node."""

    def log(self) -> Sequence[Any]:
        """All events, oldest first; the same list grows until a reorganisation replaces it.

        Raises NodeError unless the contract has counted as many.
        """

    def by_another_node(self) -> Self:
        """The contract read through another node, or the same node if no other is configured.

        It continues with the events after those read here.  Raises NodeError if that node lacks the same
        block.
        """


@dataclass(frozen=True, slots=True, eq=False)
class SeenEvents:
    """The events of a contract up to now.  Its state changes only with another event."""

    log: Sequence[Any]
    count: int

    @classmethod
    def of(cls, log: Sequence[Any]) -> SeenEvents:
        return cls(log, len(log))

    def are_all(self, log: Sequence[Any]) -> bool:
        """Whether `log`, read later, has no other events."""
        return log is self.log and len(log) == self.count


NONE = SeenEvents((), -1)


class LiveChainReader(LiveLedger, NodeReader, Protocol):
    """The live chain, read through a node."""

    def published(self) -> Sequence[LoggedVersion]:
        """Version 0 of every model, oldest first."""

    def redactions(self) -> Sequence[LoggedRedaction]:
        """Every replacement, oldest first."""


class ArchiveChainReader(ArchiveChainSource, NodeReader, Protocol):
    """The archive chain, read through a node."""

    def head(self) -> Bytes32:
        """Head of the hash chain over all records."""

    def archived(self, start: int = 0) -> Sequence[StoredArchiveRecord]:
        """Records as they were logged, oldest first, without the first `start`."""
