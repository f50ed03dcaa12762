# SPDX-License-Identifier: Apache-2.0
"""RAPL, the energy counters of x86 processors, as Linux shows them (powercap, "intel-rapl", AMD's too).

    intel-rapl:0      package-0    a socket: its cores, caches, and the graphics unit inside
    intel-rapl:0:1    dram         its memory, which no package counts

Left out: `core` and `uncore`, which are parts of a package, and `psys`, which has the packages in it.
Since Linux 5.10 only root may read the counters, unless an administrator allows others to.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from blockful_py.energy.counter import MachinePart

POWERCAP = Path("/sys/class/powercap")
MICRO = 1e-6


@dataclass(frozen=True, slots=True)
class RaplCounter:
    """One zone.  `folder`: of its files energy_uj and max_energy_range_uj, both in microjoules."""

    folder: Path
    part: MachinePart
    period: float

    @property
    def source(self) -> str:
        return f"RAPL {self.folder.name}"

    def read(self) -> float:
        return _microjoules(self.folder / "energy_uj")


def rapl_counters(powercap: Path = POWERCAP) -> tuple[RaplCounter, ...]:
    """The packages and memories that this user may read; none on other systems."""
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
    """J."""
    return int(path.read_text(encoding="ascii")) * MICRO
