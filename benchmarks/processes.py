# SPDX-License-Identifier: Apache-2.0
"""Memory and processor time of processes and their children, from /proc (Linux)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
KIB = 1024


@dataclass(frozen=True, slots=True)
class Usage:
    """A process: resident bytes, its proportional share of them, and processor seconds with ended children.

    Attributes:
        torch: it has libtorch in its memory.
    """

    pid: int
    rss: int
    pss: int
    cpu: float
    torch: bool


def usage(pid: int) -> Usage | None:
    """None when there is no such process."""
    place = Path("/proc") / str(pid)
    try:
        rollup = (place / "smaps_rollup").read_text(encoding="ascii")
        fields = (place / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        mapped = (place / "maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    sizes = {line.split(":")[0]: int(line.split()[1]) * KIB for line in rollup.splitlines()[1:]}
    cpu = sum(map(int, fields[11:15])) / TICKS
    return Usage(pid, sizes["Rss"], sizes["Pss"], cpu, "libtorch" in mapped)


def children(pids: Iterable[int]) -> Iterator[int]:
    """The children of processes, without their own children."""
    wanted = set(pids)
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            with suppress(OSError):
                stat = (place / "stat").read_text(encoding="utf-8", errors="replace")
                if int(stat.rpartition(")")[2].split()[1]) in wanted:
                    yield int(place.name)


def available() -> int:
    """Bytes of memory that the machine has left."""
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * KIB
    raise RuntimeError("the kernel does not tell how much memory is available")
