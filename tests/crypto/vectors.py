# SPDX-License-Identifier: Apache-2.0
"""The sample vectors, decoded."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "vectors" / "chameleon.json").read_text(encoding="utf-8")
)


def number(value: str) -> int:
    return int(value, 16)


def data(value: str) -> bytes:
    return bytes.fromhex(value.removeprefix("0x"))


def scripted(*values: int) -> Callable[[int], bytes]:
    """A source of randomness that gives these 32-byte numbers and then fails."""
    remaining = iter(values)
    return lambda size: next(remaining).to_bytes(size, "big")
