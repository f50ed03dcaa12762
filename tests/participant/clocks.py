# SPDX-License-Identifier: Apache-2.0
"""A party's clock, which a test sets while the party runs.

The file `clock` in its folder has the seconds that the clock is ahead; without it, the clock is right.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CLOCK = "clock"


def follow(folder: Path) -> None:
    """Replaces this process's `time.time` by the clock of the party in `folder`.

    The package reads no other clock.
    """
    right, file = time.time, folder / CLOCK

    def shown() -> float:
        try:
            return right() + float(file.read_text(encoding="ascii"))
        except FileNotFoundError:
            return right()

    time.time = shown


@contextmanager
def ahead(folder: Path, seconds: float) -> Iterator[None]:
    """The clock of the party in `folder` is ahead during the block."""
    file = folder / CLOCK
    partial = folder / f"{CLOCK}-partial"
    partial.write_text(str(seconds), encoding="ascii")
    partial.chmod(0o644)
    partial.rename(file)
    try:
        yield
    finally:
        file.unlink()
