# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from blockful_py.storage import ContentStore

PATTERN = (bytes(range(251)) * (2**20 // 251 + 1))[: 2**20]


class Pattern:
    """A stream of `size` bytes: 0 to 250 over and over, begun anew every 1 MiB."""

    def __init__(self, size: int) -> None:
        self.left = size
        self.largest_read = 0

    def read(self, count: int) -> bytes:
        self.largest_read = max(self.largest_read, count)
        count = min(count, self.left, len(PATTERN))
        self.left -= count
        return PATTERN[:count]


@pytest.fixture
def store(tmp_path: Path) -> ContentStore:
    return ContentStore(tmp_path / "store")
