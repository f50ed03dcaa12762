# SPDX-License-Identifier: Apache-2.0
"""Writes headers of GGUF files."""

from __future__ import annotations

import struct

U32 = 4


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def entry(key: str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def header(*entries: bytes, version: int = 3, count: int | None = None) -> bytes:
    return (
        b"GGUF"
        + struct.pack("<IQQ", version, 0, len(entries) if count is None else count)
        + b"".join(entries)
    )
