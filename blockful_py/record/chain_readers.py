# SPDX-License-Identifier: Apache-2.0
"""Both chains by way of a node, as whoever reads their records sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from blockful_py.committee.protocols import LiveLedger
from blockful_py.record.certificates.verifying import ArchiveChainSource
from blockful_py.record.events import LoggedVersion
from blockful_py.types import StoredArchiveRecord


class LoggedRedaction(LoggedVersion, Protocol):
    """A replacement of a model as the live chain logged it."""

    @property
    def block_number(self) -> int: ...


class LiveChainReader(LiveLedger, Protocol):
    """The live chain by way of a node."""

    def newest_block(self) -> str:
        """Hash of the node's newest block: while it is the same, so is what the contract says."""

    def published(self) -> Sequence[LoggedVersion]:
        """Version 0 of every model, oldest first."""

    def redactions(self) -> Sequence[LoggedRedaction]:
        """Every replacement, oldest first."""


class ArchiveChainReader(ArchiveChainSource, Protocol):
    """The archive chain by way of a node."""

    def newest_block(self) -> str:
        """Hash of the node's newest block."""

    def head(self) -> bytes:
        """Head of the hash chain over all records."""

    def logged(self, start: int, count: int) -> Sequence[StoredArchiveRecord]:
        """Records `start` to `start + count - 1` as they were logged; fewer where logs are gone."""
