# SPDX-License-Identifier: Apache-2.0
"""Processor time of the processes that this one started: it compares where other work takes the machine."""

from __future__ import annotations

import os
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def descendants_seconds() -> float:
    """Seconds of all living descendants of this process."""
    children: dict[int, list[int]] = defaultdict(list)
    seconds: dict[int, float] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            children[int(fields[1])].append(int(folder.name))
            seconds[int(folder.name)] = (int(fields[11]) + int(fields[12])) / TICKS
    found, total = [os.getpid()], 0.0
    while found:
        below = children[found.pop()]
        total += sum(seconds[each] for each in below)
        found += below
    return total
