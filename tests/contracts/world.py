# SPDX-License-Identifier: Apache-2.0
"""The deployed contracts together with the scene's knowledge of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.contracts.scene import (
    APPEND_BLOCK,
    APPEND_RECORDS,
    REDACT,
    Decider,
    LiveScene,
    block_digest,
    records_digest,
    redaction_digest,
)


def position(height: int, index: int) -> int:
    return height << 32 | index


@dataclass
class World:
    committee: Any
    live: Any
    mirror: Any
    archive: Any
    decider: Decider
    scene: LiveScene

    def block_action(self, block: Sequence[Any], **options: Any) -> tuple[Any, ...]:
        return self.decider.action(self.live.address, APPEND_BLOCK, block_digest(block), **options)

    def redact_action(
        self, updates: Sequence[Any], headers: Sequence[Any], **options: Any
    ) -> tuple[Any, ...]:
        return self.decider.action(self.live.address, REDACT, redaction_digest(updates, headers), **options)

    def records_action(self, head: bytes, timestamp: int, records: Sequence[Any]) -> tuple[Any, ...]:
        digest = records_digest(head, timestamp, records)
        return self.decider.action(self.archive.address, APPEND_RECORDS, digest)

    def publish(self, references: Sequence[Sequence[int]], timestamp: int = 1_700_000_000) -> Any:
        """Appends a block with one model for each list of references; returns the transaction."""
        block = self.scene.block(references, timestamp)
        return self.live.append(block, self.block_action(block))

    def redact(self, positions: Sequence[int]) -> Any:
        """Replaces the models at `positions` under one certificate; returns the transaction."""
        updates, headers = self.scene.redaction(positions)
        transaction = self.live.redact(updates, headers, self.redact_action(updates, headers))
        self.scene.settle(updates, headers)
        return transaction

    def archived(self, head: bytes, timestamp: int, records: Sequence[Any]) -> Any:
        """Appends records; returns the transaction."""
        return self.archive.append(head, timestamp, records, self.records_action(head, timestamp, records))
