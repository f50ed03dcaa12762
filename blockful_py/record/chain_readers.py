# SPDX-License-Identifier: Apache-2.0
"""Interfaces for reading both chains through a node."""

from __future__ import annotations

from collections.abc import Sequence
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

    def newest_block(self) -> str:
        """Hash of the node's newest block; while it stays the same, so do the contract's state and events."""

    def log(self) -> Sequence[Any]:
        """All events, oldest first.  Raises NodeError unless the contract has counted as many."""

    def by_another_node(self) -> Self:
        """The contract read through another node, or the same node if no other is configured.

        It continues with the events after those read here.  Raises NodeError if that node lacks the same
        block.
        """


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
