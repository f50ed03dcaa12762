# SPDX-License-Identifier: Apache-2.0
"""Records as bytes of the archive's events."""

from __future__ import annotations

from blockful_py.types import ArchiveRecord

SIZE = 46


def packed(record: ArchiveRecord) -> bytes:
    """Position 8, version 4, reason 1, codec 1, digest 32."""
    version = record.version.to_bytes(4, "big")
    return (
        record.position.packed.to_bytes(8, "big")
        + version
        + bytes([record.reason, record.uri.codec])
        + record.uri.digest
    )
