# SPDX-License-Identifier: Apache-2.0
"""RAPL energy counters of x86 processors, from Linux powercap ("intel-rapl", also for AMD).

    intel-rapl:0      package-0    a socket: its cores, caches, and integrated graphics
    intel-rapl:0:1    dram         its memory, which no package counts

Not used: `core` and `uncore`, which are parts of a package, and `psys`, which includes the packages.  Since
Linux 5.10 only root may read the counters, unless an administrator allows others to.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from blockful_lab.energy.counter import MachinePart

POWERCAP = Path("/sys/class/powercap")
MICRO = 1e-6


@dataclass(frozen=True, slots=True)
class RaplCounter:
    """One zone; `folder` has the files energy_uj and max_energy_range_uj, both in microjoules."""

    folder: Path
    part: MachinePart
    period: float

    @property
    def source(self) -> str:
        return f"RAPL {self.folder.name}"

    def read(self) -> float:
        return _microjoules(self.folder / "energy_uj")


def rapl_counters(powercap: Path = POWERCAP) -> tuple[RaplCounter, ...]:
    """Counters of the packages and memories that this user may read; empty on other systems."""
    found = []
    for folder in sorted(powercap.glob("intel-rapl:*")):
        with suppress(OSError, ValueError):
            part = _part((folder / "name").read_text(encoding="ascii").strip())
            if part is not None:
                _microjoules(folder / "energy_uj")
                found.append(RaplCounter(folder, part, _microjoules(folder / "max_energy_range_uj")))
    return tuple(each for each in found if 0 < each.period < math.inf)


def _part(name: str) -> MachinePart | None:
    if name.startswith("package-"):
        return MachinePart.PROCESSOR
    return MachinePart.MEMORY if name == "dram" else None


def _microjoules(path: Path) -> float:
    """Reads a file in microjoules; returns J."""
    return int(path.read_text(encoding="ascii")) * MICRO
