# SPDX-License-Identifier: Apache-2.0
"""Processor time of this process and its descendants."""

from __future__ import annotations

import os
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from time import process_time

PROCESSES = Path("/proc")


def processor_seconds() -> float:
    """Seconds of this process, of its reaped children, and of its living descendants.

    Without /proc, the living descendants are left out.
    """
    ended = os.times()
    return process_time() + ended.children_user + ended.children_system + descendants_seconds()


def descendants_seconds() -> float:
    """Seconds of all living descendants of this process."""
    children: dict[int, list[int]] = defaultdict(list)
    seconds: dict[int, float] = {}
    for folder in PROCESSES.glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            children[int(fields[1])].append(int(folder.name))
            seconds[int(folder.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    found, total = [os.getpid()], 0.0
    while found:
        below = children[found.pop()]
        total += sum(seconds[each] for each in below)
        found += below
    return total
