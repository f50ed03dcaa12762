# SPDX-License-Identifier: Apache-2.0
"""Results of an earlier verification: digests of the verified data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from blockful_py.types import Bytes32, Header, ModelTransaction, Position


@dataclass(frozen=True, slots=True)
class Known:
    """Digests of verified data: transactions by position, headers from height 1."""

    models: Mapping[Position, bytes]
    headers: tuple[bytes, ...]

    def has(self, transaction: ModelTransaction) -> bool:
        """Whether a transaction is unchanged."""
        return self.models.get(transaction.position) == digest(transaction)

    def has_header(self, header: Header) -> bool:
        """Whether a header is unchanged."""
        return header.height <= len(self.headers) and self.headers[header.height - 1] == digest(header)


NOTHING_KNOWN = Known({}, ())


def digest(stored: ModelTransaction | Header) -> Bytes32:
    """SHA-256 over all data that the contract stores for a model or a header.

    The opening is left out: a later version's opening is in an event, which a node may have pruned.
    """
    fields = _header(stored) if isinstance(stored, Header) else _transaction(stored)
    return hashlib.sha256(json.dumps(fields, separators=(",", ":")).encode()).digest()


def _transaction(stored: ModelTransaction) -> list[Any]:
    return [
        stored.position.packed,
        hex(stored.ch),
        stored.uri.digest.hex(),
        int(stored.uri.codec),
        stored.version,
        stored.epoch,
        stored.owner.hex(),
        stored.settled,
        [each.packed for each in stored.references],
    ]


def _header(stored: Header) -> list[Any]:
    return [
        stored.height,
        stored.parent_hash.hex(),
        hex(stored.ch),
        stored.version,
        stored.epoch,
        stored.merkle_root.hex(),
        stored.timestamp,
        stored.tx_count,
    ]
