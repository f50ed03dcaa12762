# SPDX-License-Identifier: Apache-2.0
"""A party's clock, which a test sets while the party runs.

The file `clock` in its folder says how many seconds the clock is ahead; without one it is right.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CLOCK = "clock"


def follow(folder: Path) -> None:
    """In this process, `time.time` is the clock of the party in `folder`: the package asks no other."""
    right, file = time.time, folder / CLOCK

    def shown() -> float:
        try:
            return right() + float(file.read_text(encoding="ascii"))
        except FileNotFoundError:
            return right()

    time.time = shown


@contextmanager
def ahead(folder: Path, seconds: float) -> Iterator[None]:
    """The clock of the party in `folder` is wrong meanwhile."""
    file = folder / CLOCK
    partial = folder / f"{CLOCK}-partial"
    partial.write_text(str(seconds), encoding="ascii")
    partial.chmod(0o644)
    partial.rename(file)
    try:
        yield
    finally:
        file.unlink()
