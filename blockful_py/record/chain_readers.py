# SPDX-License-Identifier: Apache-2.0
"""Both chains by way of a node, as whoever reads their records sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self

from blockful_py.ledger.protocols import LiveLedger
from blockful_py.record.certificates.verifying import ArchiveChainSource
from blockful_py.record.events import LoggedVersion
from blockful_py.types import StoredArchiveRecord


class LoggedRedaction(LoggedVersion, Protocol):
    """A replacement of a model as the live chain logged it."""

    @property
    def block_number(self) -> int: ...


class NodeReader(Protocol):
    """A contract by way of a node."""

    @property
    def url(self) -> str:
        """Of the node."""

    def newest_block(self) -> str:
        """Hash of the node's newest block, up to which events are read: while it is the same, so is what the
        contract says."""

    def log(self) -> Sequence[Any]:
        """All events, oldest first.  Raises NodeError unless they are as many as the contract has counted."""

    def by_another_node(self) -> Self:
        """The contract by another node of the chain, by the same where no other is named, with the events
        after those that are read here.  Raises NodeError when that node does not know the same block."""


class LiveChainReader(LiveLedger, NodeReader, Protocol):
    """The live chain by way of a node."""

    def published(self) -> Sequence[LoggedVersion]:
        """Version 0 of every model, oldest first."""

    def redactions(self) -> Sequence[LoggedRedaction]:
        """Every replacement, oldest first."""


class ArchiveChainReader(ArchiveChainSource, NodeReader, Protocol):
    """The archive chain by way of a node."""

    def head(self) -> bytes:
        """Head of the hash chain over all records."""

    def archived(self, start: int = 0) -> Sequence[StoredArchiveRecord]:
        """Records as they were logged, oldest first, without the first `start`."""
