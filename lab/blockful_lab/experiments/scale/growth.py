# SPDX-License-Identifier: Apache-2.0
"""Beyond the paper: a merged request over more models, and more members, with the exponents of growth."""

from __future__ import annotations

import math
import re
import resource
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import Any

from blockful_lab.experiments.scale.points import digest, keep, kept
from blockful_lab.simulation.constants import Constants, line
from blockful_lab.simulation.outcome import simulate_once
from blockful_lab.simulation.settings import SimulationSettings
from blockful_py.errors import SettingsError

DEPTH = 8
MEMBERS = 100
LEAST = 100
"""Models, and members, where each growth begins."""
FEW = 1_000
"""Models of the growth over members."""
GROWN = ("seconds", "gas", "chain_bytes", "joules", "processor", "mebibytes")


@dataclass(frozen=True, slots=True)
class GrowthPoint:
    """One simulation of one seed.

    Attributes:
        seconds, gas, chain_bytes, joules: simulated; both chains together.
        processor: s of the simulator itself.
        mebibytes: peak memory of its process, a new one.
    """

    over: str
    x: int
    seconds: float
    gas: float
    chain_bytes: float
    joules: float
    processor: float
    mebibytes: float


def grow(
    models: int, members: int, constants: Constants, seed: int, folder: Path, advance: Callable[[int], None]
) -> list[GrowthPoint]:
    """Simulates 10^2, 10^3 ... up to `models`, in chains of `DEPTH`; then up to `members`.

    Raises SettingsError for less than `LEAST`, or as a simulation does; as `kept` and `keep` otherwise.
    """
    points = []
    for over, settings in [*_models(models), *_members(members)]:
        x = settings.models if over == "models" else settings.members
        asked = {
            "settings": asdict(settings),
            "seed": seed,
            "constants": digest(constants.documented()),
        }
        path = folder / "growth" / f"{over}-{x}.json"
        found = kept(path, asked)
        if found is None:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
                found = process.submit(_measured, settings, constants, seed).result()
            keep(path, asked, found)
        points.append(GrowthPoint(over, x, **found))
        advance(1)
    return points


def points_of(models: int, members: int) -> int:
    """Number of points of `grow`."""
    return len(_models(models)) + len(_members(members))


def exponents(points: Sequence[GrowthPoint]) -> Mapping[str, float]:
    """Exponents p of y ~ x^p by least squares of the logarithms, for figures with two or more points."""
    found = {}
    for name in GROWN:
        pairs = [(math.log(each.x), math.log(max(getattr(each, name), 1e-9))) for each in points]
        if len(pairs) > 1:
            found[name] = line(pairs)[0]
    return found


def _models(most: int) -> list[tuple[str, SimulationSettings]]:
    return [
        ("models", SimulationSettings(members=MEMBERS, requests=max(1, x // DEPTH), depth=DEPTH))
        for x in _decades(most, "models")
    ]


def _members(most: int) -> list[tuple[str, SimulationSettings]]:
    return [
        ("members", SimulationSettings(members=x, requests=FEW // DEPTH, depth=DEPTH))
        for x in _decades(most, "members")
    ]


def _decades(most: int, of: str) -> list[int]:
    if most < LEAST:
        raise SettingsError(f"the growth begins with {LEAST} {of}: take more than {most:,}.")
    return [10**power for power in range(2, math.floor(math.log10(most) + 1e-9) + 1)]


def _measured(settings: SimulationSettings, constants: Constants, seed: int) -> dict[str, Any]:
    begun = process_time()
    outcome = simulate_once(settings, constants, seed)
    took = process_time() - begun
    return {
        "seconds": outcome.seconds,
        "gas": sum(chain["gas"] for chain in outcome.chains.values()),
        "chain_bytes": sum(chain["bytes"] for chain in outcome.chains.values()),
        "joules": sum(outcome.energy.counted.values()),
        "processor": took,
        "mebibytes": _most_memory(),
    }


def _most_memory() -> float:
    """Peak MiB of this process.  After an exec, getrusage on Linux includes the parent's."""
    status = Path("/proc/self/status")
    if status.exists():
        (kibibytes,) = re.findall(r"^VmHWM:\s+(\d+) kB$", status.read_text(encoding="ascii"), re.MULTILINE)
        return int(kibibytes) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
